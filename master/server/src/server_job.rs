//! A job of a server, run to its end.

use super::job_workers::{JobWorkers, LaunchedFor};
use super::notify::Notifier;
use super::server::Server;
use compass_jobs::{Failure, JobEnvironment, JobRequest, Mode, OpenedRun, job};
use compass_run::{JobHandle, ModelPlacement};
use compass_scheduler::broker::JobId;
use compass_settings::Config;
use std::sync::Arc;
use tokio::sync::watch;

/// A job to run, and with which workers.
#[derive(Debug)]
pub(super) struct Job {
    pub id: JobId,
    pub config: Config,
    pub request: JobRequest,
    pub opened: OpenedRun,
    pub(super) job_handle: JobHandle,
    pub priority: u32,
    /// Most slots at once.
    pub bound: Option<u32>,
    pub(super) placements: Vec<ModelPlacement>,
    pub(super) launched: LaunchedFor,
}

impl Server {
    /// Runs a job to its end and returns the exit code. `interrupted` turns to the code of a signal that asks the process to stop.
    ///
    /// # Errors
    /// What stopped it; all that was recorded stays, and the run can be resumed.
    pub(crate) async fn run(
        self: &Arc<Self>,
        job: Job,
        interrupted: watch::Receiver<Option<u8>>,
    ) -> Result<u8, Failure> {
        let Job { id, config, request, opened, job_handle, priority, bound, placements, launched } = job;
        let (server, workers_stay) = (self.clone(), matches!(launched, LaunchedFor::Server(_)));
        let workers = JobWorkers {
            server,
            id: id.clone(),
            priority,
            bound,
            placements,
            job_handle: job_handle.clone(),
            launched,
        };
        // Making a table again is nothing to tell of.
        let told = config.notify.clone().filter(|_| request.mode != Mode::Viz);
        let known = (self.registry.clone(), id.clone());
        let notifier = told.map(|notify| Notifier::new(notify, &opened.folder, job_handle.clone(), known));
        let watching = notifier.as_ref().and_then(Notifier::watch);
        let place = JobEnvironment { job_handle, source: Arc::new(workers), workers_stay };
        let ran = Box::pin(job::run(config, &request, &opened, &place, interrupted)).await;
        drop(watching);
        if let Some(notifier) = notifier {
            notifier.ended(&ran).await;
        }
        ran
    }
}
