//! The Slurm launcher: arrays of `sbatch`, one `squeue --json` per look, `scancel`.
//!
//! Jobs carry in their comment which run, pool and master they belong to. A master that was restarted under its old address
//! takes over what an earlier one left in the queue; jobs that would look for another address are cancelled.

use super::error::LaunchError;
use super::launcher::{JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::process::{Tool, ToolOutput};
use super::slurm_command::{SlurmOrder, is_unreached, sentence};
use super::slurm_queue::{QueuedJob, entries};
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const REMEDY: &str = "start the master where Slurm's commands are, such as a login node, or choose another runner";
const fn tool(program: &'static str) -> Tool {
    Tool { program, remedy: REMEDY, limit: Duration::from_secs(60) }
}
const SBATCH: Tool = tool("sbatch");
const SQUEUE: Tool = tool("squeue");
const SCANCEL: Tool = tool("scancel");

/// Jobs of one array: Slurm's own bound (MaxArraySize) is 1001 unless a site raised it.
const ARRAY: u32 = 1000;
/// Jobs that one `scancel` names.
const CANCELLED_AT_ONCE: usize = 500;

/// Submits arrays of jobs with `sbatch`, looks with `squeue`, ends with `scancel`.
pub struct SlurmLauncher {
    order: SlurmOrder,
    /// The comment of every job that it submits.
    comment: String,
    /// How often each running job had been put back into the queue when it was looked at last.
    restarts: BTreeMap<LauncherJobId, u64>,
    /// What the comment of every job of this run and pool begins with, whatever its master.
    mark: String,
}

/// Where jobs belong.
#[derive(Clone, Copy, Debug)]
pub struct Belonging<'b> {
    /// The run folder's name.
    pub run: &'b str,
    /// The plan's digest, short.
    pub job: &'b str,
    pub stage: &'b str,
    pub pool: &'b str,
    /// Its address.
    pub master: &'b str,
}

impl Belonging<'_> {
    /// The comment without the master, and whole.
    fn comments(&self) -> (String, String) {
        let Self { run, job, stage, pool, master } = self;
        let mark = format!("compass run={run} job={job} stage={stage} pool={pool} ");
        let whole = format!("{mark}master={master}");
        (mark, whole)
    }
}

impl SlurmLauncher {
    /// A launcher that has submitted nothing.
    pub fn new(order: SlurmOrder, belonging: &Belonging<'_>) -> Self {
        let (mark, comment) = belonging.comments();
        Self { order, comment, restarts: BTreeMap::new(), mark }
    }

    fn sbatch(&self, jobs: u32) -> Vec<String> {
        self.order.sbatch(jobs, &self.comment)
    }

    fn refused(&self, program: &str, said: &ToolOutput) -> LaunchError {
        let sentence = sentence(program, &said.stderr, &self.order.config);
        match is_unreached(&said.stderr) {
            true => LaunchError::Unreached { sentence },
            false => LaunchError::Refused { sentence },
        }
    }

    async fn submit_array(&self, jobs: u32) -> Result<Vec<Launched>, LaunchError> {
        // Slurm ends a job whose output it cannot write, with a signal 53 that says nothing.
        if let Some(logs) = &self.order.logs {
            let failed = |source| LaunchError::Log { path: logs.clone(), source };
            std::fs::create_dir_all(logs).map_err(failed)?;
        }
        let said = SBATCH.run(&self.sbatch(jobs), &self.order.script()).await?;
        if !said.is_ok() {
            return Err(self.refused("sbatch", &said));
        }
        // `--parsable` prints the number, and `;cluster` behind it where there are several.
        let array = said.stdout.trim().split(';').next().unwrap_or_default();
        if array.is_empty() || !array.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(LaunchError::Unreadable { program: "sbatch".into(), what: said.stdout.trim().to_owned() });
        }
        Ok((0..jobs).map(|task| self.launched(LauncherJobId(format!("{array}_{task}")), 0)).collect())
    }

    fn launched(&self, job: LauncherJobId, restarts: u64) -> Launched {
        Launched { worker: WorkerId(self.order.worker_of(&job.0, restarts)), job }
    }

    /// This user's jobs of this run and pool.
    async fn queue(&self) -> Result<Vec<QueuedJob>, LaunchError> {
        let user = rustix::process::getuid().as_raw();
        let said = SQUEUE.run(&["--json".into(), format!("--user={user}"), "--states=all".into()], "").await?;
        if !said.is_ok() {
            return Err(self.refused("squeue", &said));
        }
        let unreadable = || LaunchError::Unreadable { program: "squeue --json".into(), what: first_line(&said.stdout) };
        let mut found = entries(&said.stdout).ok_or_else(unreadable)?;
        found.retain(|entry| entry.user == user && entry.comment.starts_with(&self.mark));
        Ok(found)
    }

    /// A job that was put back and started again since the last look has another worker: that it waited must be told.
    fn seen(&mut self, entry: QueuedJob) -> (LauncherJobId, JobState) {
        let QueuedJob { job, restarts, state, .. } = entry;
        let before = self.restarts.insert(job.clone(), restarts);
        match state {
            JobState::Running if before.is_some_and(|before| before < restarts) => {
                (job, JobState::Queued { reason: "it was put back and runs again".into() })
            }
            state => (job, state),
        }
    }

    async fn end(&self, jobs: &[LauncherJobId]) -> Result<(), LaunchError> {
        for jobs in jobs.chunks(CANCELLED_AT_ONCE) {
            let said = SCANCEL.run(&cancel_words(jobs), "").await?;
            // A job that has ended meanwhile is no fault; who cannot be reached is one.
            if !said.is_ok() && is_unreached(&said.stderr) {
                return Err(self.refused("scancel", &said));
            }
        }
        Ok(())
    }

    async fn take_over(&self) -> Result<Vec<Launched>, LaunchError> {
        let live = |entry: &QueuedJob| !matches!(entry.state, JobState::Ended(_));
        let (ours, stray): (Vec<QueuedJob>, Vec<QueuedJob>) =
            self.queue().await?.into_iter().filter(live).partition(|entry| entry.comment == self.comment);
        let stray: Vec<LauncherJobId> = stray.into_iter().map(|entry| entry.job).collect();
        if !stray.is_empty() {
            tracing::warn!(jobs = stray.len(), "cancelling jobs of an earlier master, which had another address");
            self.end(&stray).await?;
        }
        Ok(ours.into_iter().map(|entry| self.launched(entry.job, entry.restarts)).collect())
    }

    /// Has Slurm judge a job without submitting it.
    ///
    /// # Errors
    /// Slurm cannot be asked, or would refuse.
    async fn rehearse(&self) -> Result<(), LaunchError> {
        if let Some(logs) = &self.order.logs {
            // A job whose output cannot be written fails at once, and Slurm does not say why.
            let made = std::fs::create_dir_all(logs);
            made.map_err(|source| LaunchError::Log { path: logs.clone(), source })?;
        }
        let mut line = self.sbatch(1);
        line.push("--test-only".into());
        let said = SBATCH.run(&line, &self.order.script()).await?;
        if said.is_ok() { Ok(()) } else { Err(self.refused("sbatch", &said)) }
    }
}

fn cancel_words(jobs: &[LauncherJobId]) -> Vec<String> {
    let quiet = std::iter::once("--quiet".to_owned());
    quiet.chain(jobs.iter().map(|job| job.0.clone())).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("nothing").chars().take(120).collect()
}

impl Launcher for SlurmLauncher {
    fn check(&mut self) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(self.rehearse())
    }

    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async move {
            let mut launched = Vec::new();
            while (launched.len() as u32) < jobs {
                match self.submit_array((jobs - launched.len() as u32).min(ARRAY)).await {
                    Ok(more) => launched.extend(more),
                    Err(error) if launched.is_empty() => return Err(error),
                    // What is there is there; the rest is asked for again.
                    Err(_) => break,
                }
            }
            Ok(launched)
        })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(async move {
            let found = self.queue().await?;
            Ok(found.into_iter().map(|entry| self.seen(entry)).collect())
        })
    }

    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async move { self.end(&jobs).await })
    }

    fn adopt(&mut self) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(self.take_over())
    }

    fn worker_of(&self, job: &LauncherJobId) -> Option<WorkerId> {
        let restarts = self.restarts.get(job)?;
        Some(WorkerId(self.order.worker_of(&job.0, *restarts)))
    }

    fn log_file(&self, job: &LauncherJobId) -> Option<PathBuf> {
        Some(self.order.logs.as_ref()?.join(format!("{}-{job}.log", self.order.pool)))
    }

    fn log(&self, job: &LauncherJobId) -> Option<String> {
        self.log_file(job).map(|path| path.display().to_string())
    }

    fn command_lines(&self, jobs: u32) -> Vec<String> {
        vec![self.order.shown(jobs.min(ARRAY), &self.comment)]
    }

    fn emergency_cleanup(&self, jobs: &[LauncherJobId]) -> Option<Vec<String>> {
        let words = std::iter::once("scancel".to_owned()).chain(cancel_words(jobs));
        (!jobs.is_empty()).then(|| words.collect())
    }

    fn policy(&self) -> LauncherPolicy {
        LauncherPolicy {
            poll: Duration::from_secs(2),
            ending: Duration::from_millis(500),
            grace: Duration::from_secs(90),
            failures: 8,
            pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(120),
            connect: Some(Duration::from_secs(180)),
        }
    }
}
