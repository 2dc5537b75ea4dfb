//! A launcher submits jobs, reports their states, and ends them. One job holds one agent.
//!
//! A launcher decides nothing: how many jobs there are to be is the autoscaler's to say, what became of one is the
//! job table's to judge. Each is pure command building and pure parsing around a thin runner of processes.

use super::error::LaunchError;
use compass_types::ids::WorkerId;
use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::Duration;

/// The signal that asks a process to end.
pub(super) const SIGTERM: i32 = 15;
/// The exit code of a worker that ended because of it.
pub(super) const TERMINATED: i32 = 128 + SIGTERM;

/// A future of a trait's method.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A job as its launcher names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LauncherJobId(pub String);

impl std::fmt::Display for LauncherJobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A job that was submitted, and the name under which its agent will report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    pub job: LauncherJobId,
    pub worker: WorkerId,
}

/// State of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits; `reason` is the launcher's word, or empty. Also after a preemption, when it will run again.
    Queued { reason: String },
    /// It waits and will not run unless somebody lets it: another one is of more use.
    Held { reason: String },
    /// It runs.
    Running,
    /// It is over.
    Ended(JobOutcome),
}

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// Its agent went in good order.
    Done,
    /// Its agent failed, or could not be started.
    Failed { reason: String },
    /// Somebody more important took its place: no failure.
    Preempted,
    /// Its node broke.
    NodeFailed,
    /// Its time was up.
    Walltime,
    /// Somebody cancelled it.
    Cancelled,
    /// Its worker got a SIGTERM that this master did not send: no failure.
    Terminated,
    /// It is gone for an unknown reason.
    Unknown,
}

impl JobOutcome {
    /// Returns whether a cluster does this as a matter of course.
    pub(crate) fn is_expected(&self) -> bool {
        matches!(self, Self::Done | Self::Preempted | Self::Walltime | Self::Cancelled | Self::Terminated)
    }

    /// The outcome of a process on this host that ended with this status; `what` is what a failure calls it. A shell whose
    /// command was ended by a signal exits with 128 more, as a worker does that was told to end and has finished its samples.
    pub(crate) fn of_process(status: ExitStatus, what: &str) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Done,
            (Some(TERMINATED), _) | (None, Some(SIGTERM)) => Self::Terminated,
            (Some(code), _) => Self::Failed { reason: format!("{what} ended with exit code {code}") },
            (None, Some(signal)) => Self::Failed { reason: format!("{what} was ended by signal {signal}") },
            (None, None) => Self::Failed { reason: format!("{what} ended") },
        }
    }
}

impl std::fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Done => "ended",
            Self::Failed { reason } => reason,
            Self::Preempted => "preempted",
            Self::NodeFailed => "its node failed",
            Self::Walltime => "its wall time was up",
            Self::Cancelled => "cancelled",
            Self::Terminated => "told to end by SIGTERM",
            Self::Unknown => "gone for an unknown reason",
        })
    }
}

/// Intervals and bounds for the use of a launcher.
#[derive(Clone, Copy, Debug)]
pub struct LauncherPolicy {
    /// Interval at which it is asked for the states of its jobs.
    pub poll: Duration,
    /// Interval at which it is asked while the end of its jobs is waited for.
    pub ending: Duration,
    /// Longest wait for the end of cancelled jobs.
    pub grace: Duration,
    /// Failures in a row after which it is given up.
    pub failures: u32,
    /// The pause after a first failure; it doubles with each further one.
    pub pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// A job that runs for so long without its agent reporting is ended; `None` waits indefinitely.
    pub connect: Option<Duration>,
}

/// Submits jobs, says where they stand, and ends them.
pub trait Launcher: Send {
    /// Checks whether jobs would be taken, before anything is begun.
    fn check(&mut self) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async { Ok(()) })
    }

    /// Launches so many jobs, or fewer where not all could be.
    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>>;

    /// Returns the states of the jobs. One that is not listed is unknown to the launcher, by now or as yet.
    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>>;

    /// Asks jobs to end: agents finish what they have begun, as far as the launcher lets them.
    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>>;

    /// Jobs of this run that an earlier master launched and that will find this one.
    fn adopt(&mut self) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The name of the agent that a job has now, where it is not the one that it was submitted with: a job that was put
    /// back has a new one, and the old may still run on an unreachable node.
    fn worker_of(&self, job: &LauncherJobId) -> Option<WorkerId> {
        let _ = job;
        None
    }

    /// The file on this host that the output of a job goes to, where one does.
    fn log_file(&self, job: &LauncherJobId) -> Option<PathBuf> {
        let _ = job;
        None
    }

    /// Describes in words where the output of a job is found.
    fn log(&self, job: &LauncherJobId) -> Option<String>;

    /// The command lines that launch so many jobs, for `--dry-run`.
    fn command_lines(&self, jobs: u32) -> Vec<String>;

    /// A command that ends these jobs, for a master that is about to be gone; `None` where they go with it anyway.
    fn emergency_cleanup(&self, jobs: &[LauncherJobId]) -> Option<Vec<String>> {
        let _ = jobs;
        None
    }

    /// Returns the policy for the use of this launcher.
    fn policy(&self) -> LauncherPolicy;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_told_to_end_did_not_fail() {
        let of = |raw: i32| JobOutcome::of_process(ExitStatus::from_raw(raw), "the worker");
        assert_eq!(
            (of(0), of(TERMINATED << 8), of(SIGTERM)),
            (JobOutcome::Done, JobOutcome::Terminated, JobOutcome::Terminated)
        );
        assert_eq!(of(3 << 8), JobOutcome::Failed { reason: "the worker ended with exit code 3".into() });
        assert_eq!(of(9), JobOutcome::Failed { reason: "the worker was ended by signal 9".into() });
        assert!(JobOutcome::Terminated.is_expected() && !of(9).is_expected());
    }
}
