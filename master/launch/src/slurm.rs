//! The Slurm launcher: arrays of `sbatch`, one `squeue` per look, `scancel`.
//!
//! The message of a failed `sbatch` is not believed: the jobs may be there all the same, and the queue is looked at before
//! anything else is submitted.
//!
//! Jobs carry in their comment which run and pool they belong to, and which masters they were told of. A master takes over
//! what an earlier one left in the queue and told of it; jobs that would look for other addresses alone are cancelled.

use super::error::LaunchError;
use super::launcher::{JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::process::{Commands, Processes, Tool, ToolOutput};
use super::slurm_command::{SlurmOrder, is_unreached, sentence};
use super::slurm_queue::{QueueForm, QueuedJob};
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const REMEDY: &str = "start the master where Slurm's commands are, such as a login node, or choose another runner";
const fn tool(program: &'static str, seconds: u64) -> Tool {
    Tool { program, remedy: REMEDY, limit: Duration::from_secs(seconds) }
}
const SBATCH: Tool = tool("sbatch", 60);
const SCANCEL: Tool = tool("scancel", 60);

/// `squeue`; where JSON takes longer than it may, columns do not.
const fn squeue(form: QueueForm) -> Tool {
    match form {
        QueueForm::Json => tool("squeue", 10),
        QueueForm::Columns => tool("squeue", 60),
    }
}

/// Jobs of one array: Slurm's own bound (MaxArraySize) is 1001 unless a site changed it.
const ARRAY: u32 = 1000;
/// Jobs that one `scancel` names.
const CANCELLED_AT_ONCE: usize = 500;

/// Submits arrays of jobs with `sbatch`, looks with `squeue`, ends with `scancel`.
pub struct SlurmLauncher {
    order: SlurmOrder,
    /// Number of times that each job that it launched or found had been put back into the queue when it was looked at last.
    restarts: BTreeMap<LauncherJobId, u64>,
    /// Beginning of the comment of every job of this run and pool, before the masters that its worker was told of.
    mark: String,
    /// Jobs of one array that Slurm takes.
    array: u32,
    /// Reason why the latest submission was not taken whole. It is told before anything else is submitted.
    untold: Option<LaunchError>,
    form: QueueForm,
    commands: Box<dyn Commands>,
}

/// Run, job, stage and pool to which jobs belong.
#[derive(Clone, Copy, Debug)]
pub struct Belonging<'b> {
    /// The run folder's name.
    pub run: &'b str,
    /// The plan's digest, short.
    pub job: &'b str,
    pub stage: &'b str,
    pub pool: &'b str,
}

impl Belonging<'_> {
    fn mark(&self) -> String {
        let Self { run, job, stage, pool } = self;
        format!("compass run={run} job={job} stage={stage} pool={pool} master=")
    }
}

impl SlurmLauncher {
    /// A launcher that has submitted nothing.
    pub fn new(order: SlurmOrder, belonging: &Belonging<'_>) -> Self {
        Self::with_commands(order, belonging, Box::new(Processes))
    }

    /// The same, with what runs the commands of Slurm.
    pub(super) fn with_commands(order: SlurmOrder, belonging: &Belonging<'_>, commands: Box<dyn Commands>) -> Self {
        let (mark, restarts) = (belonging.mark(), BTreeMap::new());
        Self { order, restarts, mark, array: ARRAY, untold: None, form: QueueForm::Json, commands }
    }

    /// The comment of a job that is submitted now.
    fn comment(&self) -> String {
        format!("{}{}", self.mark, self.order.worker.master.told())
    }

    /// Returns whether the worker of a job of this run and pool finds this master.
    fn is_ours(&self, entry: &QueuedJob) -> bool {
        entry.comment.strip_prefix(&self.mark).is_some_and(|told| self.order.worker.master.are_found_by(told))
    }

    fn sbatch(&self, jobs: u32) -> Vec<String> {
        self.order.sbatch(jobs, &self.comment())
    }

    fn refused(&self, program: &str, said: &ToolOutput) -> LaunchError {
        let sentence = sentence(program, &said.stderr, &self.order.config);
        match is_unreached(&said.stderr) {
            true => LaunchError::Unreached { sentence },
            false => LaunchError::Refused { sentence },
        }
    }

    /// Submits arrays until so many jobs are launched, or no more are taken: a site may bound the jobs of an array, and a
    /// quota those of a user, so that a part of what was refused may do.
    async fn submit_arrays(&mut self, jobs: u32) -> Result<Vec<Launched>, LaunchError> {
        if let Some(error) = self.untold.take() {
            return Err(error);
        }
        let mut launched = Vec::new();
        let mut most = self.array;
        while (launched.len() as u32) < jobs {
            let array = most.min(jobs - launched.len() as u32);
            match self.submit_array(array).await {
                Ok(more) => {
                    self.array = most;
                    launched.extend(more);
                }
                Err(LaunchError::Refused { .. }) if array > 1 => most = array / 2,
                Err(error) if launched.is_empty() => return Err(error),
                // What is there is there.
                Err(error) => {
                    self.untold = Some(error);
                    break;
                }
            }
        }
        Ok(launched)
    }

    /// Submits one array. Where Slurm does not say that it took it, the queue does.
    async fn submit_array(&mut self, jobs: u32) -> Result<Vec<Launched>, LaunchError> {
        let error = match self.sbatch_array(jobs).await {
            Err(error) if !error.is_final() => error,
            known => return known,
        };
        match self.queue().await {
            Ok(found) => {
                let is_new = |entry: &QueuedJob| !self.restarts.contains_key(&entry.job);
                let mut found: Vec<QueuedJob> = found.into_iter().filter(QueuedJob::is_live).collect();
                found.retain(|entry| self.is_ours(entry) && is_new(entry));
                match found.is_empty() {
                    true => Err(error),
                    false => Ok(found.into_iter().map(|entry| self.launched(entry.job, entry.restarts)).collect()),
                }
            }
            // Whether it was taken is unknown, so that nothing is submitted in its place now.
            Err(_) => Err(LaunchError::Unreached { sentence: error.sentence() }),
        }
    }

    async fn sbatch_array(&mut self, jobs: u32) -> Result<Vec<Launched>, LaunchError> {
        // Slurm ends a job whose output it cannot write, with a signal 53 that says nothing.
        if let Some(logs) = &self.order.logs {
            let failed = |source| LaunchError::Log { path: logs.clone(), source };
            std::fs::create_dir_all(logs).map_err(failed)?;
        }
        let said = self.commands.run(SBATCH, &self.sbatch(jobs), &self.order.script()).await?;
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

    fn launched(&mut self, job: LauncherJobId, restarts: u64) -> Launched {
        self.restarts.insert(job.clone(), restarts);
        Launched { worker: WorkerId(self.order.worker_of(&job.0, restarts)), job }
    }

    /// This user's jobs of this run and pool. Once JSON fails where columns do not, columns it is.
    async fn queue(&mut self) -> Result<Vec<QueuedJob>, LaunchError> {
        let error = match self.queue_in(self.form).await {
            Err(error) if self.form == QueueForm::Json && !error.is_final() => error,
            answer => return answer,
        };
        if matches!(error, LaunchError::Unreached { .. }) {
            return Err(error);
        }
        let found = self.queue_in(QueueForm::Columns).await.map_err(|_| error)?;
        self.form = QueueForm::Columns;
        Ok(found)
    }

    async fn queue_in(&self, form: QueueForm) -> Result<Vec<QueuedJob>, LaunchError> {
        let user = rustix::process::getuid().as_raw();
        let said = self.commands.run(squeue(form), &form.arguments(user), "").await?;
        if !said.is_ok() {
            return Err(self.refused("squeue", &said));
        }
        let unreadable = || LaunchError::Unreadable { program: "squeue".into(), what: first_line(&said.stdout) };
        let mut found = form.entries(&said.stdout).ok_or_else(unreadable)?;
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
            let said = self.commands.run(SCANCEL, &cancel_words(jobs), "").await?;
            // A job that has ended meanwhile is no fault; who cannot be reached is one.
            if !said.is_ok() && is_unreached(&said.stderr) {
                return Err(self.refused("scancel", &said));
            }
        }
        Ok(())
    }

    async fn take_over(&mut self) -> Result<Vec<Launched>, LaunchError> {
        let live = self.queue().await?.into_iter().filter(QueuedJob::is_live);
        let (ours, stray): (Vec<QueuedJob>, Vec<QueuedJob>) = live.partition(|entry| self.is_ours(entry));
        let stray: Vec<LauncherJobId> = stray.into_iter().map(|entry| entry.job).collect();
        if !stray.is_empty() {
            tracing::warn!(
                jobs = stray.len(),
                "cancelling jobs of an earlier master, which do not know this one's address"
            );
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
        let said = self.commands.run(SBATCH, &line, &self.order.script()).await?;
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
        Box::pin(self.submit_arrays(jobs))
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(async move {
            let mut found = self.queue().await?;
            found.retain(|entry| self.is_ours(entry));
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
        vec![self.order.shown(jobs.min(ARRAY), &self.comment())]
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

#[cfg(test)]
#[path = "slurm_tests.rs"]
mod tests;
