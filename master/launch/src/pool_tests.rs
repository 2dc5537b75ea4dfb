//! A pool whose jobs are over before it looks at them for the first time, and one whose submissions are answered late.

use super::error::LaunchError;
use super::launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::pool::{Pool, PoolChannels, PoolReport, PoolSpec, ScaleTarget, ended_in_words};
use compass_common::job_log::{JobLog, LogLine};
use compass_common::status_output::with_log;
use compass_types::ids::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Every job fails at once. Its log is in a folder that is seen late, as that of a shared file system may be.
struct FailsAtOnce {
    logs: PathBuf,
    submitted: Vec<LauncherJobId>,
    stop: CancellationToken,
}

impl Launcher for FailsAtOnce {
    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async move {
            let job = |number: u32| LauncherJobId(format!("1_{number}"));
            self.submitted = (0..jobs).map(job).collect();
            let launched = self.submitted.iter();
            Ok(launched.map(|job| Launched { job: job.clone(), worker: WorkerId(format!("w{job}")) }).collect())
        })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(async move {
            let failed = JobState::Ended(JobOutcome::Failed { reason: "its worker ended with exit code 1".into() });
            // The run is over with them.
            self.stop.cancel();
            let (late, job_logs) = (self.logs.clone(), self.submitted.clone());
            tokio::spawn(async move {
                // On this runtime of a single thread it runs once the pool waits, which is for these logs alone.
                std::fs::create_dir(&late).unwrap();
                for job in job_logs {
                    std::fs::write(late.join(&job.0), "ERROR no model\nend of the log without a newline").unwrap();
                }
            });
            Ok(self.submitted.drain(..).map(|job| (job, failed.clone())).collect())
        })
    }

    fn cancel(&mut self, _: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async { Ok(()) })
    }

    fn log_file(&self, job: &LauncherJobId) -> Option<PathBuf> {
        Some(self.logs.join(&job.0))
    }

    fn log(&self, job: &LauncherJobId) -> Option<String> {
        self.log_file(job).map(|path| path.display().to_string())
    }

    fn command_lines(&self, _: u32) -> Vec<String> {
        Vec::new()
    }

    fn policy(&self) -> LauncherPolicy {
        let second = Duration::from_secs(1);
        LauncherPolicy {
            poll: Duration::from_millis(50),
            ending: Duration::from_millis(10),
            grace: second,
            failures: 3,
            pause: second,
            longest_pause: second,
            connect: None,
        }
    }
}

/// Returns the lines that a pool of two jobs prints that fail at once.
async fn printed(shows_logs: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let launcher = FailsAtOnce { logs: folder.path().join("logs"), submitted: Vec::new(), stop: stop.clone() };
    let spec = PoolSpec { name: "s".into(), kind: "slurm", most: 2, shows_logs, ..PoolSpec::default() };
    let (targets, targets_receiver) = watch::channel(ScaleTarget::default());
    targets.send_replace(ScaleTarget { target: 2, ..ScaleTarget::default() });
    let (report, _reports) = watch::channel(PoolReport::default());
    let (events, _receiver) = mpsc::channel(16);
    let channels = PoolChannels { targets: targets_receiver, report, events, stop };
    let job_log = Arc::new(JobLog::new(&folder.path().join("job.log")));
    let pool = Pool { spec, launcher: Box::new(launcher) };
    with_log(job_log.clone(), pool.run(channels)).await;
    let lines = job_log.read(0).0.into_iter();
    lines
        .map(|line| match line {
            LogLine::Status(text) | LogLine::Progress(text) | LogLine::Output(text) => text,
        })
        .collect()
}

#[tokio::test]
async fn the_log_of_a_job_that_fails_at_once_is_shown() {
    let printed = printed(true).await;
    let of_jobs: Vec<&String> = printed.iter().filter(|line| line.starts_with("slurm ")).collect();
    assert_eq!(
        of_jobs,
        [
            "slurm 1_0 | ERROR no model",
            "slurm 1_1 | ERROR no model",
            "slurm 1_0 | end of the log without a newline",
            "slurm 1_1 | end of the log without a newline",
        ]
    );
}

#[tokio::test]
async fn logs_are_shown_only_where_they_are_asked_for() {
    assert!(printed(false).await.iter().all(|line| !line.starts_with("slurm ")));
}

/// A cluster that takes every submission and says that it did not; the jobs are seen two looks later.
#[derive(Default)]
struct Late {
    jobs: BTreeMap<LauncherJobId, u32>,
    cancelled: BTreeSet<LauncherJobId>,
    submissions: u32,
    most: u32,
    looks: u32,
}

struct AnswersLate {
    cluster: Arc<Mutex<Late>>,
    stop: CancellationToken,
}

impl Launcher for AnswersLate {
    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        let mut cluster = self.cluster.lock().unwrap();
        cluster.submissions += 1;
        let array = cluster.submissions;
        cluster.jobs.extend((0..jobs).map(|task| (LauncherJobId(format!("{array}_{task}")), 0)));
        Box::pin(async { Err(LaunchError::Unreached { sentence: "the socket timed out".into() }) })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        let mut cluster = self.cluster.lock().unwrap();
        cluster.looks += 1;
        // The run ends while a submission is in doubt, or long after.
        if cluster.looks == 8 {
            self.stop.cancel();
        }
        let Late { jobs, cancelled, most, .. } = &mut *cluster;
        jobs.retain(|job, _| !cancelled.contains(job));
        jobs.values_mut().for_each(|looks| *looks += 1);
        *most = jobs.len().max(*most as usize) as u32;
        let seen = jobs.iter().filter(|(_, looks)| **looks > 2);
        let seen = seen.map(|(job, _)| (job.clone(), JobState::Running)).collect::<Vec<_>>();
        let gone = cancelled.iter().map(|job| (job.clone(), JobState::Ended(JobOutcome::Cancelled)));
        let standings = seen.into_iter().chain(gone).collect();
        Box::pin(async move { Ok(standings) })
    }

    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        self.cluster.lock().unwrap().cancelled.extend(jobs);
        Box::pin(async { Ok(()) })
    }

    fn worker_of(&self, job: &LauncherJobId) -> Option<WorkerId> {
        Some(WorkerId(format!("w{job}")))
    }

    fn log(&self, _: &LauncherJobId) -> Option<String> {
        None
    }

    fn command_lines(&self, _: u32) -> Vec<String> {
        Vec::new()
    }

    fn policy(&self) -> LauncherPolicy {
        let (poll, second) = (Duration::from_millis(1), Duration::from_secs(1));
        let (pause, longest_pause) = (Duration::ZERO, Duration::ZERO);
        LauncherPolicy { poll, ending: poll, grace: second * 60, failures: 9, pause, longest_pause, connect: None }
    }
}

#[tokio::test]
async fn a_submission_in_doubt_is_looked_for_before_another_and_leaves_no_job() {
    let (cluster, stop) = (Arc::new(Mutex::new(Late::default())), CancellationToken::new());
    let launcher = AnswersLate { cluster: cluster.clone(), stop: stop.clone() };
    let spec = PoolSpec { name: "s".into(), kind: "slurm", most: 20, ..PoolSpec::default() };
    let (_targets, targets) = watch::channel(ScaleTarget { target: 20, has_work: true, ..ScaleTarget::default() });
    let (report, _reports) = watch::channel(PoolReport::default());
    let (events, _receiver) = mpsc::channel(64);
    let channels = PoolChannels { targets, report, events, stop };
    Pool { spec, launcher: Box::new(launcher) }.run(channels).await;
    let cluster = cluster.lock().unwrap();
    assert_eq!((cluster.submissions, cluster.most, cluster.cancelled.len()), (1, 20, 20));
}

/// A cluster that answers no question.
struct Blind {
    submissions: Arc<Mutex<u32>>,
}

fn unanswered<'a, T: Send + 'a>() -> Pending<'a, Result<T, LaunchError>> {
    Box::pin(async { Err(LaunchError::Unreached { sentence: "the socket timed out".into() }) })
}

impl Launcher for Blind {
    fn submit(&mut self, _: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        *self.submissions.lock().unwrap() += 1;
        unanswered()
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        unanswered()
    }

    fn adopt(&mut self) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        unanswered()
    }

    fn cancel(&mut self, _: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        unanswered()
    }

    fn log(&self, _: &LauncherJobId) -> Option<String> {
        None
    }

    fn command_lines(&self, _: u32) -> Vec<String> {
        Vec::new()
    }

    fn policy(&self) -> LauncherPolicy {
        let (poll, none) = (Duration::from_millis(1), Duration::ZERO);
        let (pause, longest_pause, grace) = (none, none, Duration::from_millis(20));
        LauncherPolicy { poll, ending: poll, grace, failures: 3, pause, longest_pause, connect: None }
    }
}

#[tokio::test]
async fn a_pool_that_cannot_look_submits_nothing_and_is_given_up() {
    let (submissions, stop) = (Arc::new(Mutex::new(0)), CancellationToken::new());
    let launcher = Blind { submissions: submissions.clone() };
    let spec = PoolSpec { name: "s".into(), kind: "slurm", most: 20, ..PoolSpec::default() };
    let (_targets, targets) = watch::channel(ScaleTarget { target: 20, has_work: true, ..ScaleTarget::default() });
    let (report, mut reports) = watch::channel(PoolReport::default());
    let (events, _receiver) = mpsc::channel(64);
    let channels = PoolChannels { targets, report, events, stop: stop.clone() };
    let pool = tokio::spawn(Pool { spec, launcher: Box::new(launcher) }.run(channels));
    let given_up = reports.wait_for(|report| report.given_up.is_some()).await.unwrap().clone();
    assert_eq!(given_up.given_up.unwrap(), "it failed 3 times in a row, last with: the socket timed out");
    stop.cancel();
    pool.await.unwrap();
    assert_eq!(*submissions.lock().unwrap(), 0, "jobs of an earlier master may be there");
}

#[test]
fn what_has_ended_is_called_by_its_name() {
    let job = |id: &str| LauncherJobId(id.into());
    let (one, two) = (job("4364"), job("4365"));
    let told = JobOutcome::Terminated.to_string();
    assert_eq!(
        ended_in_words("local", &[&one], &told, Some("/l")),
        "worker process 4364 ended: told to end by SIGTERM (its log: /l)"
    );
    assert_eq!(
        ended_in_words("slurm", &[&one, &two], &told, Some("/l")),
        "2 jobs ended: told to end by SIGTERM (the log of the first, job 4364: /l)"
    );
    assert_eq!(ended_in_words("command", &[&two], "exit", None), "process 4365 ended: exit");
}
