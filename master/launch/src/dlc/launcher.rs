//! The launcher itself: submits, looks, stops, and keeps the logs.
//!
//! The jobs stand in a file beside their logs, so that the next master of the run finds them.

use super::super::error::LaunchError;
use super::super::launcher::{
    JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending, SIGTERM,
};
use super::super::worker_command::{WorkerCommand, quoted};
use super::answer::{self, DlcJob};
use super::job_text::{job_text, submit_words, words};
use super::jobs::Watched;
use super::program::{DLC, ask, look};
use compass_common::encode;
use compass_common::regular_file;
use compass_settings::DlcConfig;
use compass_types::ids::WorkerId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Tries to submit a job whose answer holds no id, and the pause between two, as in OpenCompass.
const SUBMISSIONS: u32 = 5;
const SUBMISSION_PAUSE: Duration = Duration::from_secs(2);
/// Jobs submitted before others are looked after again.
const AT_ONCE: u32 = 4;
/// Questions under way at once.
const QUESTIONS: usize = 8;
/// The end of a log that is read for its last line, in bytes.
const MOST_OF_LOG: u64 = 64 << 10;
/// Interval at which jobs are looked at whose state is due to be asked for.
const POLL: Duration = Duration::from_secs(1);
/// A job's image may have to be pulled and its model copied before its worker reports.
const CONNECT: Duration = Duration::from_secs(20 * 60);

/// Run and pool for which jobs are submitted, with their GPUs, environment and folder of logs.
#[derive(Clone, Debug)]
pub struct DlcPlace {
    /// The run and its pool, for the names of jobs.
    pub run: String,
    /// GPUs of one job.
    pub gpus: u32,
    /// Variables that the workers' environment gets.
    pub environment: Vec<(String, String)>,
    /// The folder of logs; `None` when nothing is started.
    pub logs: Option<PathBuf>,
}

/// Submits, looks at and stops jobs of DLC, and keeps their logs.
pub struct DlcLauncher {
    config: DlcConfig,
    worker: WorkerCommand,
    place: DlcPlace,
    jobs: BTreeMap<LauncherJobId, Watched>,
    submitted: u32,
    begun: Instant,
}

/// A line of the file of jobs.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    job: String,
    worker: String,
    master: String,
}

impl DlcLauncher {
    /// A launcher without jobs.
    pub fn new(config: DlcConfig, worker: WorkerCommand, place: DlcPlace) -> Self {
        Self { config, worker, place, jobs: BTreeMap::new(), submitted: 0, begun: Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_ms(&self) -> u64 {
        u64::from(self.config.aliyun.sleep_seconds) * 1000
    }

    /// The name of a job and of its worker. Every try has its own: one whose answer was lost may run all the same.
    fn name(&self, number: u32) -> String {
        format!("compass-{}-{}-{number}", self.place.run, std::process::id())
    }

    fn submission(&self, name: &str) -> Vec<String> {
        let worker = self.worker.shell_line(Some(name));
        let text = job_text(&self.config.aliyun, &self.place.environment, &worker);
        submit_words(&self.config, name, self.place.gpus, &text)
    }

    async fn submit_one(&mut self) -> Result<Launched, LaunchError> {
        let mut last = String::new();
        for attempt in 0..SUBMISSIONS {
            if attempt > 0 {
                tokio::time::sleep(SUBMISSION_PAUSE).await;
            }
            let name = self.name(self.submitted);
            self.submitted += 1;
            let output = ask(&self.submission(&name)).await?;
            if let Some(id) = answer::job_id(&output) {
                let (job, worker) = (LauncherJobId(id.to_owned()), WorkerId(name));
                self.note(&job, &worker)?;
                self.jobs.insert(job.clone(), Watched::new(worker.clone(), self.now(), self.sleep_ms()));
                return Ok(Launched { job, worker });
            }
            let refusal = answer::refusal(&output);
            if let Some(refusal) = refusal.as_ref().filter(|refusal| answer::is_for_good(refusal)) {
                return Err(LaunchError::Refused { sentence: format!("DLC refuses the job: {refusal}") });
            }
            last = refusal.unwrap_or_else(|| answer::one_line(&output));
            tracing::warn!(attempt, answer = last, "dlc did not say the id of a job that was submitted");
        }
        let said = if last.is_empty() { "nothing".to_owned() } else { format!("`{last}`") };
        let sentence = format!("`dlc` named no job in {SUBMISSIONS} tries to submit one; it said {said}");
        Err(LaunchError::Refused { sentence })
    }

    /// Asks for the state of every job whose time has come.
    async fn look(&mut self) -> Result<(), LaunchError> {
        let now = self.now();
        let due: Vec<LauncherJobId> =
            self.jobs.iter().filter(|(_, job)| job.is_due(now)).map(|(id, _)| id.clone()).collect();
        let questions = due.into_iter().map(|job| {
            let line = words(&self.config.aliyun, &["get", "job", &job.0]);
            (job, line)
        });
        let mut trouble = None;
        let sleep = self.sleep_ms();
        for (id, output) in all(questions.collect()).await {
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            let state: Option<DlcJob> = match &output {
                Ok(output) => answer::job_state(output),
                Err(_) => None,
            };
            job.seen(now, state, sleep);
            trouble = output.err().or(trouble);
        }
        // That there is no `dlc` any more, or that it is silent, is worth a word; what it says badly is counted.
        trouble.map_or(Ok(()), Err)
    }

    /// Appends what is new to the logs of jobs that run or have just ended.
    async fn read_logs(&mut self) {
        let now = self.now();
        let mut windows = Vec::new();
        let mut questions = Vec::new();
        for (id, job) in &self.jobs {
            if matches!(job.state, JobState::Queued { .. }) {
                continue;
            }
            let Some((from, to)) = job.log_window(now) else { continue };
            let pod = format!("{id}-master-0");
            let mut line = words(&self.config.aliyun, &["logs", &id.0, &pod]);
            line.extend(["--start_time".into(), from, "--end_time".into(), to.clone()]);
            windows.push((id.clone(), to));
            questions.push((id.clone(), line));
        }
        for (id, output) in all(questions).await {
            let Ok(output) = output else { continue };
            let Some(lines) = answer::log_lines(&output) else { continue };
            let written = self.log_file(&id).map(|path| append(&path, lines.as_bytes()));
            if let Some(Err(error)) = written {
                tracing::warn!(job = %id, %error, "cannot keep the log of a job");
            }
            let to = windows.iter().find(|(job, _)| *job == id).map(|(_, to)| to.as_str());
            if let (Some(job), Some(to)) = (self.jobs.get_mut(&id), to) {
                job.logged(to);
            }
        }
    }

    async fn poll_all(&mut self) -> Result<Vec<(LauncherJobId, JobState)>, LaunchError> {
        self.look().await?;
        self.read_logs().await;
        let given_up: Vec<LauncherJobId> =
            self.jobs.iter().filter(|(_, job)| job.given_up).map(|(id, _)| id.clone()).collect();
        if let Err(error) = self.stop(&given_up).await {
            tracing::warn!("cannot stop jobs that were given up: {}", error.sentence());
        }
        let mut standings = Vec::with_capacity(self.jobs.len());
        for (id, job) in &self.jobs {
            let mut state = job.state.clone();
            if let JobState::Ended(JobOutcome::Failed { reason }) = &mut state
                && let Some(line) = self.log_file(id).and_then(|path| last_line(&path))
            {
                if is_terminated(&line) {
                    state = JobState::Ended(JobOutcome::Terminated);
                } else {
                    reason.push_str(&format!("; its last line is: {line}"));
                }
            }
            standings.push((id.clone(), state));
        }
        self.jobs.retain(|_, job| !matches!(job.state, JobState::Ended(_)));
        Ok(standings)
    }

    async fn stop(&mut self, jobs: &[LauncherJobId]) -> Result<(), LaunchError> {
        let questions = jobs.iter().map(|job| (job.clone(), self.stop_words(job)));
        let mut refused = None;
        for (id, output) in all(questions.collect()).await {
            let refusal = answer::refusal(&output?);
            match refusal.filter(|refusal| !answer::is_over_already(refusal)) {
                None => self.jobs.get_mut(&id).map(Watched::hurry).unwrap_or_default(),
                Some(refusal) => refused = Some(format!("DLC does not stop the job {id}: {refusal}")),
            }
        }
        refused.map_or(Ok(()), |sentence| Err(LaunchError::Refused { sentence }))
    }

    fn stop_words(&self, job: &LauncherJobId) -> Vec<String> {
        words(&self.config.aliyun, &["stop", "job", &job.0, "--force"])
    }

    fn notes(&self) -> Option<PathBuf> {
        Some(self.place.logs.as_ref()?.join("dlc_jobs.jsonl"))
    }

    /// Writes down that the job exists, for the next master of this run.
    fn note(&self, job: &LauncherJobId, worker: &WorkerId) -> Result<(), LaunchError> {
        let Some(path) = self.notes() else { return Ok(()) };
        let noted = Noted { job: job.0.clone(), worker: worker.0.clone(), master: self.worker.master.told() };
        let mut line = encode::json("the note of a DLC job", &noted)?;
        line.push(b'\n');
        append(&path, &line).map_err(|source| LaunchError::Log { path, source })
    }

    /// Takes over the jobs of an earlier master whose workers look for this address; stops the others.
    async fn take_over(&mut self) -> Result<Vec<Launched>, LaunchError> {
        let text =
            self.notes().and_then(|path| regular_file::read_text(&path, regular_file::LARGE).ok()).unwrap_or_default();
        let noted = text.lines().filter_map(|line| serde_json::from_str::<Noted>(line).ok());
        let noted: BTreeMap<LauncherJobId, Noted> =
            noted.map(|noted| (LauncherJobId(noted.job.clone()), noted)).collect();
        let questions = noted.keys().map(|job| (job.clone(), words(&self.config.aliyun, &["get", "job", &job.0])));
        let (now, sleep) = (self.now(), self.sleep_ms());
        let (mut launched, mut foreign) = (Vec::new(), Vec::new());
        for (id, output) in all(questions.collect()).await {
            let Some(noted) = noted.get(&id) else { continue };
            let mut job = Watched::new(WorkerId(noted.worker.clone()), now, sleep);
            // One whose state cannot be read now may well be there.
            job.seen(now, answer::job_state(&output?), sleep);
            if matches!(job.state, JobState::Ended(_)) {
                continue;
            }
            if self.worker.master.are_found_by(&noted.master) {
                launched.push(Launched { job: id.clone(), worker: job.worker.clone() });
                self.jobs.insert(id, job);
            } else {
                foreign.push(id);
            }
        }
        self.stop(&foreign).await?;
        Ok(launched)
    }
}

/// Asks `dlc` all of this, a few questions at a time.
async fn all(questions: Vec<(LauncherJobId, Vec<String>)>) -> Vec<(LauncherJobId, Result<String, LaunchError>)> {
    let mut waiting = questions.into_iter();
    let mut running = JoinSet::new();
    let mut answers = Vec::new();
    loop {
        while running.len() < QUESTIONS {
            let Some((id, line)) = waiting.next() else { break };
            running.spawn(async move { (id, ask(&line).await) });
        }
        match running.join_next().await {
            Some(Ok(answer)) => answers.push(answer),
            Some(Err(error)) => tracing::error!(%error, "a question to dlc was lost"),
            None => return answers,
        }
    }
}

fn append(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    regular_file::append(path)?.write_all(bytes)
}

/// Returns whether this is the last line of a worker that was told to end: DLC says of any exit code only that the command failed.
fn is_terminated(line: &str) -> bool {
    line.ends_with(&format!("compass-worker: ended by signal {SIGTERM}"))
}

/// The last line of a log that says something.
fn last_line(path: &std::path::Path) -> Option<String> {
    let bytes = regular_file::read_end(path, MOST_OF_LOG).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(answer::one_line(line))
}

impl Launcher for DlcLauncher {
    fn check(&mut self) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async { look() })
    }

    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async move {
            let mut launched = Vec::new();
            for _ in 0..jobs.min(AT_ONCE) {
                match self.submit_one().await {
                    Ok(one) => launched.push(one),
                    // Those that were submitted are to be known; the error comes again with the next try.
                    Err(error) if launched.is_empty() => return Err(error),
                    Err(error) => {
                        tracing::warn!("cannot submit as many jobs as wanted: {}", error.sentence());
                        break;
                    }
                }
            }
            Ok(launched)
        })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(self.poll_all())
    }

    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async move { self.stop(&jobs).await })
    }

    fn adopt(&mut self) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(self.take_over())
    }

    fn log_file(&self, job: &LauncherJobId) -> Option<PathBuf> {
        Some(self.place.logs.as_ref()?.join(format!("{job}.log")))
    }

    fn log(&self, job: &LauncherJobId) -> Option<String> {
        self.log_file(job).map(|path| path.display().to_string())
    }

    fn command_lines(&self, jobs: u32) -> Vec<String> {
        let line = |number| {
            let words = self.submission(&self.name(number));
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("{} {}", DLC.program, words.join(" "))
        };
        (0..jobs).map(line).collect()
    }

    fn emergency_cleanup(&self, jobs: &[LauncherJobId]) -> Option<Vec<String>> {
        let line = |job: &LauncherJobId| {
            let words: Vec<String> = self.stop_words(job).iter().map(|word| quoted(word)).collect();
            format!("{} {}", DLC.program, words.join(" "))
        };
        let lines: Vec<String> = jobs.iter().map(line).collect();
        (!lines.is_empty()).then(|| vec!["sh".into(), "-c".into(), lines.join("; ")])
    }

    fn policy(&self) -> LauncherPolicy {
        LauncherPolicy {
            poll: POLL,
            ending: POLL,
            grace: Duration::from_secs(120),
            failures: 5,
            pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(60),
            connect: Some(CONNECT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_tells_a_worker_that_was_told_to_end() {
        assert!(is_terminated("compass-worker: ended by signal 15"));
        assert!(is_terminated("[2026-01-02] compass-worker: ended by signal 15"));
        assert!(!is_terminated("compass-worker: ended by signal 9"));
        assert!(!is_terminated("compass-worker: ended by signal 15 while it loaded"));
    }
}
