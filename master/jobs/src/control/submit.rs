//! `submit`: a job for a server. Planned here, so that the submitter sees all errors, and nothing was started.

use super::client::{Known, Master};
use super::elsewhere::end_elsewhere;
use super::usual::{place, serve_command, usual_state_dir};
use crate::job::{Failure, JobRecord, JobRequest, Mode, open_run, why_it_ended};
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, is_terminal, print, print_status, report};
use compass_diagnostic::Diagnostic;
use compass_progress::FollowedBar;
use compass_proto::v1::follow_reply::Body;
use compass_run_folder::RunFolder;
use compass_settings::{Config, StoreConfig};
use compass_types::ids::Digest;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};

/// Longest search for another server once the one that had a job went away: while none is seen to stand by, and at most.
const SUCCESSION: Duration = Duration::from_secs(3);
const LONGEST_SUCCESSION: Duration = Duration::from_secs(60);

/// A job to submit, and the manner of its submission.
#[derive(Clone, Debug)]
pub struct Submission {
    pub request: JobRequest,
    pub priority: u32,
    /// Set to stay until the job ends, with its table and its exit code.
    pub wait: bool,
}

/// Hands the job that `config` and `submission` describe to the server of its state folder.
///
/// # Errors
/// Bad input, or no server; nothing was started. With `wait`, why the job ended without a table.
pub async fn submit(config: &Config, submission: Submission) -> Result<u8, Failure> {
    let Submission { request, priority, wait } = submission;
    if matches!(request.mode, Mode::Eval | Mode::Viz) {
        return Err(Failure::bad_input(
            Diagnostic::error("-m eval and -m viz need no workers")
                .with_help("run them here: compass-master --config ... -m eval -r RUN"),
        ));
    }
    let server = Mutex::new(server_of(&config.state_dir).await?);
    if config.notify.is_some() {
        let note = Diagnostic::note("[notify] of a submitted job has no effect: the server tells of every job");
        report(note.with_help("write it in the file that `compass-master serve --config` names"));
    }
    let is_known = AtomicBool::new(request.reuse.is_some());
    let known = async |plan: &Digest| {
        let mut server = server.lock().await;
        let folder = under_any(&mut server, &config.state_dir, async |server| server.find(plan).await).await?;
        is_known.fetch_or(folder.is_some(), Ordering::Relaxed);
        Ok(folder.and_then(|folder| RunFolder::at(&folder)))
    };
    let opened = Box::pin(open_run(config, &request, known)).await?;
    let plan = compass_run_folder::plan_digest(&opened.folder).map_err(|error| Failure::of_plan(&error))?;
    let record = JobRecord::new(config, &request, &opened, plan, priority);
    let job = serde_json::to_vec(&record).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let mut server = server.into_inner();
    // A plan runs once, however often it is handed over.
    let accepted = under_any(&mut server, &config.state_dir, async |server| server.submit(job.clone()).await).await;
    let accepted = accepted.inspect_err(|failure| {
        // Refused for good, it was not kept, and its folder is of no use; after any other failure it may have been.
        if failure.code == exit::BAD_INPUT && !is_known.load(Ordering::Relaxed) {
            let _ = std::fs::remove_dir_all(opened.folder.root());
        }
    })?;
    let folder = RunFolder::at(Path::new(&accepted.folder)).unwrap_or(opened.folder);
    if accepted.attached {
        print_status(format!("this very job is running already: nothing new was started ({})", folder.shown()));
    }
    print(format!("{} {}\n", accepted.job, folder.shown()))
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    let place = place(&config.state_dir);
    if wait {
        let (job, mut stopped) = (accepted.job.clone(), watch_for_stop());
        let followed = Box::pin(follow(server, accepted.job, &folder, config));
        // The bar goes with the future.
        let ended = tokio::select! {
            ended = followed => Ok(ended),
            Some(code) = stopped.recv() => Err(code),
        };
        return ended.unwrap_or_else(|code| {
            print_status(goes_on(&job, &place));
            Ok(code)
        });
    }
    let accepted_now = if accepted.attached { "" } else { "accepted; " };
    print_status(format!("{accepted_now}see it with: compass-master status {}{place}", accepted.job));
    Ok(exit::SCORED)
}

/// The server of a state folder; the next one, where it has died or hangs and another stands by.
async fn server_of(state_dir: &Path) -> Result<Master, Failure> {
    match Master::server(state_dir).await {
        Err(failure) if Master::is_in_succession(state_dir).await => {
            print_status("the server is gone or hangs; waiting for the one that stands by");
            next_server(&[state_dir], |_| true).await.ok_or(failure)
        }
        found => found,
    }
}

/// Asks a server; where it goes away or loses its lead meanwhile, the one that takes its place.
async fn under_any<T>(
    server: &mut Master,
    state_dir: &Path,
    ask: impl AsyncFn(&mut Master) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    loop {
        let failure = match ask(server).await {
            Err(failure) if failure.code != exit::BAD_INPUT && begun.elapsed() < LONGEST_SUCCESSION => failure,
            done => return done,
        };
        let Some(next) = next_server(&[state_dir], |known| !known.master.is_same_as(server)).await else {
            return Err(failure);
        };
        print_status("the server went away; another one is asked");
        *server = next;
    }
}

/// Receives the exit code of the first signal that asks this client to stop; nothing where signals cannot be watched.
fn watch_for_stop() -> mpsc::Receiver<u8> {
    let (stop, stopped) = mpsc::channel(1);
    for (kind, code) in [(SignalKind::interrupt(), exit::INTERRUPTED), (SignalKind::terminate(), exit::TERMINATED)] {
        if let Ok(mut stream) = signal(kind) {
            let stop = stop.clone();
            tokio::spawn(async move {
                stream.recv().await;
                // The client has ended meanwhile.
                let _ = stop.send(code).await;
            });
        }
    }
    stopped
}

/// Returns the message of a client that leaves before its job ends.
fn goes_on(job: &str, place: &str) -> String {
    format!("the job goes on: compass-master status {job}{place}; compass-master cancel {job}{place} ends it")
}

/// The table as this terminal can show it: the server, which wrote it, knows of none.
fn fitting(table: String, folder: &Path) -> String {
    let width = terminal_width().filter(|width| table.lines().any(|line| line.chars().count() > *width));
    width.and_then(|width| compass_scoring::latest_table_within(folder, width)).map_or(table, |fitting| fitting + "\n")
}

/// Says what the job says, to its end, under whichever server has it.
async fn follow(mut server: Master, job: String, folder: &RunFolder, config: &Config) -> Result<u8, Failure> {
    let state_dir = &config.state_dir;
    loop {
        if let Some(code) = follow_under(&mut server, &job, folder).await? {
            return Ok(code);
        }
        // One of another state folder may have it as well.
        let usual = usual_state_dir().filter(|usual| usual != state_dir);
        let folders: Vec<&Path> = std::iter::once(state_dir.as_path()).chain(usual.as_deref()).collect();
        let has_job = |known: &Known| known.status.jobs.iter().any(|known| known.job == job);
        let Some(next) = next_server(&folders, has_job).await else {
            if let Some(code) = follow_elsewhere(&job, folder, &config.store).await? {
                return Ok(code);
            }
            let help = format!("start it again with {}; it goes on with job {job}", serve_command(state_dir));
            return Err(Failure::new(exit::INFRASTRUCTURE, Diagnostic::error("the server went away").with_help(help)));
        };
        print_status(format!("the server went away; another one goes on with job {job}"));
        server = next;
    }
}

/// Waits for the end of a job under a server on another host; `None` where none has it.
async fn follow_elsewhere(job: &str, folder: &RunFolder, store: &StoreConfig) -> Result<Option<u8>, Failure> {
    let say = || print_status(format!("the server went away; one on another host goes on with job {job}"));
    let ended = end_elsewhere(store, job, say).await.map_err(|error| Failure::of_store(&error))?;
    let Some(ended) = ended else { return Ok(None) };
    let width = terminal_width().unwrap_or(usize::MAX);
    if let Some(table) = compass_scoring::latest_table_within(folder.root(), width) {
        print(table + "\n").map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    }
    outcome(ended.exit_code, ended.reason, ended.help).map(Some)
}

/// Returns the result that a job that ended gives its client.
fn outcome(code: u8, reason: String, help: Option<String>) -> Result<u8, Failure> {
    match why_it_ended(reason, help) {
        None => Ok(code),
        Some(why) => Err(Failure::new(code, why)),
    }
}

/// A server of these state folders in the place of one that went away: one that stood by, or the same one started again. `None` where
/// there is none that `is_wanted`.
async fn next_server(folders: &[&Path], is_wanted: impl Fn(&Known) -> bool) -> Option<Master> {
    let begun = Instant::now();
    let mut until = begun + SUCCESSION;
    while Instant::now() < until {
        for folder in folders {
            for known in Master::all(folder).await.known {
                if known.status.stands_by.is_some() {
                    until = (Instant::now() + SUCCESSION).min(begun + LONGEST_SUCCESSION);
                } else if known.status.kind == "serve" && is_wanted(&known) {
                    return Some(known.master);
                }
            }
        }
        tokio::time::sleep(SUCCESSION / 12).await;
    }
    None
}

/// Says what the job says, until it ends with a code; `None` once the server is gone.
async fn follow_under(server: &mut Master, job: &str, folder: &RunFolder) -> Result<Option<u8>, Failure> {
    let mut said = match server.follow(job.to_owned(), is_terminal()).await {
        Err(failure) if failure.code == exit::BAD_INPUT => return Err(failure),
        Err(_) => return Ok(None),
        Ok(said) => said,
    };
    let mut bar = FollowedBar::default();
    loop {
        let Ok(Some(reply)) = said.message().await else { return Ok(None) };
        match reply.body {
            Some(Body::StatusLine(line)) => print_status(line),
            Some(Body::Progress(progress)) => bar.show(&progress),
            Some(Body::Output(text)) => {
                bar.clear();
                print(fitting(text, folder.root()))
                    .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
            }
            Some(Body::Ended(ended)) => {
                bar.clear();
                let code = u8::try_from(ended.exit_code).unwrap_or(exit::INFRASTRUCTURE);
                let help = Some(ended.help).filter(|help| !help.is_empty());
                return outcome(code, ended.reason, help).map(Some);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_goes_says_how_to_see_and_to_end_its_job() {
        let said = goes_on("4f2a9c01", " --state-dir /s");
        let expected = "the job goes on: compass-master status 4f2a9c01 --state-dir /s; compass-master cancel 4f2a9c01 \
                        --state-dir /s ends it";
        assert_eq!(said, expected);
    }
}
