//! A pool whose jobs are over before it looks at them for the first time.

use super::error::LaunchError;
use super::launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::pool::{Pool, PoolChannels, PoolReport, PoolSpec, ScaleTarget, ended_in_words};
use compass_common::job_log::{JobLog, LogLine};
use compass_common::status_output::with_log;
use compass_types::ids::WorkerId;
use std::path::PathBuf;
use std::sync::Arc;
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

/// What a pool of two such jobs prints.
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
