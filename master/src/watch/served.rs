//! The job of a checkpoint with a server.
//!
//! It is submitted under a key that follows from the watch and the content: after a kill between any two steps the next watch
//! submits the same job in the same run folder, and the server runs it once.

use super::jobs::{Jobs, ServerPlace, Stop, Task};
use compass_cli::exit;
use compass_common::backoff;
use compass_common::status_output::print_status;
use compass_diagnostic::Diagnostic;
use compass_jobs::{Failure, Followed, JobRecord, ServerOfJobs};
use compass_types::ids::Digest;
use compass_watch::{Ending, Event};

use std::sync::atomic::Ordering;
use std::time::Duration;

/// Between two tries to reach a server, at first and at most.
const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(30);

/// Submits it, and waits for its end, over as many servers as that takes.
pub(super) async fn run(jobs: &Jobs, place: &ServerPlace, task: &Task) -> Result<Ending, Stop> {
    let mut task = task.clone();
    let mut waits = backoff::policy(FIRST, MOST);
    loop {
        // First of all: where no server answers nothing is planned.
        let mut server = reach(place).await;
        let (config, opened) = jobs.open(&task).await?;
        task.folder = Some(opened.folder.name());
        let digest = match &opened.plan {
            Some(read) => read.digest,
            None => compass_run_folder::plan_digest(&opened.folder).map_err(|error| Failure::of_plan(&error))?,
        };
        let record = JobRecord::new(&config, &jobs.request, &opened, digest, place.priority);
        let record = JobRecord { key: Some(key(place, &task.content)), ..record };
        match server.submit(&record).await {
            Ok(job) => {
                jobs.tell(Event::Submitted { content: task.content, job: job.clone() }).await;
                match server.follow(&job).await {
                    Ok(Followed::Ended { code, reason }) => return ended(code, reason),
                    Ok(Followed::Lost) => {}
                    Err(failure) if failure.code == exit::INFRASTRUCTURE => say_away(place, &failure),
                    Err(failure) => return Err(failure.into()),
                }
            }
            Err(failure) if failure.code == exit::INFRASTRUCTURE => say_away(place, &failure),
            Err(failure) => return Err(failure.into()),
        }
        tokio::time::sleep(waits.next().unwrap_or(MOST)).await;
    }
}

/// Waits until a server answers; that it does not is said once.
async fn reach(place: &ServerPlace) -> ServerOfJobs {
    let mut waits = backoff::policy(FIRST, MOST);
    loop {
        match ServerOfJobs::connect(&place.state_dir).await {
            Ok(server) => {
                if place.is_away.swap(false, Ordering::Relaxed) {
                    print_status("the server answers");
                }
                return server;
            }
            Err(failure) => say_away(place, &failure),
        }
        tokio::time::sleep(waits.next().unwrap_or(MOST)).await;
    }
}

fn say_away(place: &ServerPlace, failure: &Failure) {
    if !place.is_away.swap(true, Ordering::Relaxed) {
        print_status(format!("waiting for a server: {}", failure.diagnostics.message()));
        if let Some(help) = failure.diagnostics.help() {
            print_status(format!("  {help}; or run the jobs in this process: --here"));
        }
    }
}

/// Returns the key that tells the submission of a content by this watch from every other.
fn key(place: &ServerPlace, content: &Digest) -> String {
    Digest::of(format!("{} {content}", place.evaluated).as_bytes()).to_string()
}

fn ended(code: u8, reason: String) -> Result<Ending, Stop> {
    match code {
        // It goes on when it is submitted again.
        exit::INFRASTRUCTURE | exit::LEADERSHIP_LOST => Err(Failure::new(code, Diagnostic::error(reason)).into()),
        code => Ok(Ending { code, reason }),
    }
}
