//! One job, with a server that ends with it: `compass-master --config`.

use super::job_workers::LaunchedFor;
use super::server::Server;
use super::server_job::Job;
use super::status_file::StatusFile;
use compass_cli::exit;
use compass_common::run_log;
use compass_common::status_output::report;
use compass_diagnostic::Diagnostic;
use compass_jobs::control::{self, usual_state_dir};
use compass_jobs::job::now;
use compass_jobs::{Failure, JobEntry, JobRequest, OpenedRun, SlotBound};
use compass_run::ModelPlacement;
use compass_run_folder::plan_digest;
use compass_settings::Config;
use tokio::sync::{Mutex, watch};
use tracing::Instrument as _;

/// Message to workers that wait for another stage when there is no other.
const OVER: &str = "the run is over";

/// Runs the job in `opened` to its end and returns the exit code. `interrupted` turns to the code of a signal that asks the process to
/// stop.
///
/// # Errors
/// What stopped it; all that was recorded stays, and the run can be resumed.
pub async fn run_alone(
    config: Config,
    request: JobRequest,
    opened: OpenedRun,
    interrupted: watch::Receiver<Option<u8>>,
) -> Result<u8, Failure> {
    let plan = match &opened.plan {
        Some(read) => read.digest,
        None => plan_digest(&opened.folder).map_err(|error| Failure::of_plan(&error))?,
    };
    let log = opened.folder.logs().join("master.log");
    if let Err(error) = run_log::keep_in(&log) {
        report(Diagnostic::warning(format!("what is said here is not kept in {}: {error}", log.display())));
    }
    let server = Server::new(config.clone(), "the run is");
    let (_ended, ending) = watch::channel(None);
    let folder = &opened.folder;
    let entry = JobEntry {
        submitted: now(),
        max_slots: match request.debug {
            true => Some(SlotBound::of_debug()),
            false => SlotBound::of(&config, &config.infer.runner),
        },
        ended: ending,
        ..JobEntry::new(plan, std::fs::canonicalize(folder.root()).unwrap_or_else(|_| folder.root().into()))
    };
    let (id, job_handle) = (entry.id.clone(), entry.job_handle.clone());
    server.registry.add(entry);
    if request.infers() {
        // The run does not depend on it.
        match control::open(&config.state_dir, &format!("{}-{}", folder.name(), std::process::id())) {
            Ok(socket) => server.answer(socket.announced_in(&usual_state_dir().unwrap_or_default())),
            Err(error) => tracing::warn!(%error, "this run answers no commands"),
        }
    }
    let status_file = request.status_file.clone();
    let placements = config.models.iter().map(ModelPlacement::from).collect();
    let launched = LaunchedFor::Stage(Mutex::default());
    let span = tracing::info_span!("job", %id);
    let job = Job { id, config, request, opened, job_handle, priority: 1, bound: None, placements, launched };
    let status_file = status_file.map(|path| StatusFile::begin(path, server.registry.clone()));
    let ran = server.run(job, interrupted.clone()).instrument(span).await;
    if let Some(status_file) = status_file {
        status_file.end(&ran);
    }
    // Where another master leads by now, workers that this one has not heard of it from are that one's.
    let is_led_elsewhere = matches!(&ran, Err(failure) if failure.code == exit::LEADERSHIP_LOST);
    if !is_led_elsewhere {
        server.dispatcher.close(OVER);
    }
    server.stop().await;
    server.close().await;
    ran
}
