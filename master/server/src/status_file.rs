//! `--status-file`: how a master stands, for programs that look at a file.
//!
//! The file is replaced whole, so that a reader never sees half of one. Its age tells whether the master lives.

use compass_common::status_output::report;
use compass_common::{encode, regular_file};
use compass_diagnostic::Diagnostic;
use compass_jobs::job::now;
use compass_jobs::{Failure, JobRegistry, MasterStatus};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Interval at which it is written.
const EVERY: Duration = Duration::from_secs(5);

/// Contents of the file. Its keys are documented; new ones may come.
#[derive(Debug, Serialize)]
struct Document {
    /// Seconds since 1970.
    written: u64,
    /// Set if this is the last word of the master.
    ended: bool,
    /// Exit code of the process, once it ends.
    exit_code: Option<u8>,
    /// Reason why it ended without a table.
    reason: Option<String>,
    /// Seconds since the scheduler of a job last showed itself; more than a minute is trouble. `null` where no job has one.
    silent_seconds: Option<u64>,
    /// As `status --json` shows it.
    master: MasterStatus,
}

/// Returns the result of `run`, with the file at `path` from before it begins: the last word of an earlier master does not pass for
/// the word of this one, whose configuration may be bad.
///
/// # Errors
/// The file cannot be written, and nothing was started; else those of `run`.
pub async fn with_status_file(
    path: Option<&Path>,
    kind: &str,
    run: impl Future<Output = Result<u8, Failure>>,
) -> Result<u8, Failure> {
    let Some(path) = path else { return run.await };
    let refused = |error: String| {
        let why = Diagnostic::error(format!("cannot write the status file {}: {error}", path.display()));
        Failure::bad_input(why.with_help("name a file in a folder that is there and may be written to"))
    };
    let registry = if kind == "run" { JobRegistry::planning(now()) } else { JobRegistry::default() };
    let mut first = Document::new(&registry);
    first.master.kind = kind.to_owned();
    write(path, &first).map_err(refused)?;
    let ended = run.await;
    if !has_ended(path) {
        let told = write(path, &first.at_the_end(&ended));
        told.unwrap_or_else(|error| report(unwritten(path, &error)));
    }
    ended
}

/// Returns whether the file holds the last word of its master.
fn has_ended(path: &Path) -> bool {
    let held = regular_file::read(path, regular_file::SMALL)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    held.is_some_and(|document| document["ended"] == true)
}

fn unwritten(path: &Path, error: &str) -> Diagnostic {
    Diagnostic::warning(format!("cannot write the status file {}: {error}", path.display()))
}

/// Writes the file until it is told how the master ended.
#[derive(Debug)]
pub(super) struct StatusFile {
    path: PathBuf,
    registry: Arc<JobRegistry>,
    _writing: DropGuard,
}

impl StatusFile {
    /// Begins to write.
    pub(crate) fn begin(path: PathBuf, registry: Arc<JobRegistry>) -> Self {
        let stop = CancellationToken::new();
        let (file, jobs, until) = (path.clone(), registry.clone(), stop.clone());
        tokio::spawn(until.run_until_cancelled_owned(async move {
            let mut tick = tokio::time::interval(EVERY);
            let mut refused = false;
            loop {
                tick.tick().await;
                let written = write(&file, &Document::new(&jobs));
                if let Err(error) = &written
                    && !refused
                {
                    report(unwritten(&file, error));
                }
                refused = written.is_err();
            }
        }));
        Self { path, registry, _writing: stop.drop_guard() }
    }

    /// Starts to write that this server is a standby, and of which leader; writes nothing more when it is dropped.
    pub(super) fn standing_by(path: &Path, for_whom: String) -> Self {
        Self::begin(path.to_owned(), Arc::new(JobRegistry::standing_by(for_whom)))
    }

    /// The last word.
    pub(crate) fn end(self, ended: &Result<u8, Failure>) {
        let told = write(&self.path, &Document::new(&self.registry).at_the_end(ended));
        told.unwrap_or_else(|error| report(unwritten(&self.path, &error)));
    }
}

impl Document {
    fn new(registry: &JobRegistry) -> Self {
        let (silent_for, _) = registry.pulse();
        Self {
            written: seconds(),
            ended: false,
            exit_code: None,
            reason: None,
            silent_seconds: silent_for.map(|time| time.as_secs()),
            master: registry.status(),
        }
    }

    /// The last word of a master that ended so.
    fn at_the_end(mut self, ended: &Result<u8, Failure>) -> Self {
        let (code, reason) = match ended {
            Ok(code) => (*code, None),
            Err(failure) => (failure.code, Some(failure.diagnostics.message())),
        };
        self.written = seconds();
        (self.ended, self.exit_code, self.reason, self.silent_seconds) = (true, Some(code), reason, None);
        self.master.planning_since = None;
        for job in self.master.jobs.iter_mut().filter(|_| self.master.kind == "run") {
            // The job ends with its master, which no client follows.
            job.state = "ended".into();
            job.exit_code = Some(code);
            job.reason.clone_from(&self.reason);
        }
        self
    }
}

/// Since 1970.
fn seconds() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs()
}

/// Replaces the file. Not forced to the disk: it tells of now, and a power cut is told by its age.
fn write(path: &Path, document: &Document) -> Result<(), String> {
    let json = encode::pretty_json("the status", document).map_err(|error| error.to_string())?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let written = std::fs::write(&partial, json).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        error.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_jobs::JobStatus;

    #[test]
    fn the_last_word_says_how_the_job_ended() {
        let mut document = Document::new(&JobRegistry::planning("2026-11-22T00:00:01Z".into()));
        let text =
            |document: &Document| String::from_utf8(encode::pretty_json("the status", document).unwrap()).unwrap();
        (document.written, document.silent_seconds) = (7, Some(3));
        (document.master.process, document.master.host) = (17, "h".into());
        insta::assert_snapshot!("while_it_plans", text(&document));
        document.master.jobs = vec![JobStatus { job: "3f2a".into(), state: "infer".into(), ..JobStatus::default() }];
        let mut ended = document.at_the_end(&Err(Failure::bad_input(Diagnostic::error("the disk is full"))));
        assert!(std::mem::replace(&mut ended.written, 8) > 7);
        insta::assert_snapshot!("once_it_ended", text(&ended));
    }
}
