//! The job of a checkpoint in this process, with workers of its own.

use super::jobs::{Jobs, Stop, Task};
use compass_common::job_log::JobLog;
use compass_common::status_output::with_log;
use compass_server::run_alone;
use compass_watch::Ending;
use std::sync::Arc;

/// Runs it to its end. What it says is in `logs/watch.log` of its run folder.
pub(super) async fn run(jobs: &Jobs, task: &Task) -> Result<Ending, Stop> {
    let (config, opened) = jobs.open(task).await?;
    let job_log = Arc::new(JobLog::new(&opened.folder.logs().join("watch.log")));
    let ran = Box::pin(run_alone(config, jobs.request.clone(), opened, jobs.interrupted.clone()));
    let ran = with_log(job_log.clone(), ran).await;
    job_log.close();
    match ran {
        Ok(code) => Ok(Ending { code, reason: String::new() }),
        Err(_) if jobs.is_interrupted() => Err(Stop::Interrupted),
        Err(failure) => Err(failure.into()),
    }
}
