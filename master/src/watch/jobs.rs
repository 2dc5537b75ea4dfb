//! The job of one content: its run folder, its plan, and what tells the watch of it.

use super::subject::{Subject, planned_content};
use compass_cli::exit;
use compass_jobs::job::open_in;
use compass_jobs::{Failure, JobRequest, OpenedRun};
use compass_run_folder::{FolderError, RunFolder, read_plan};
use compass_settings::Config;
use compass_types::ids::Digest;
use compass_watch::{Ending, Event};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::block_in_place;

/// Tries of a job that ends for want of workers, a store or a disk.
const TRIES: u32 = 5;

/// Something to tell the watch; `durable` hears once that is recorded.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: Event,
    pub(super) durable: oneshot::Sender<()>,
}

/// A content whose job is to begin, or to go on.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) content: Digest,
    pub(super) name: String,
    /// The name of its run folder, where it has one by now.
    pub(super) folder: Option<String>,
    /// Number of times that it could not begin.
    pub(super) postponed: u32,
}

/// Common parts of all jobs.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    pub(super) subject: Arc<Subject>,
    pub(super) request: JobRequest,
    /// Server to which they are submitted; `None` where they run in this process.
    pub(super) server: Option<ServerPlace>,
    pub(super) told: mpsc::Sender<Told>,
    pub(super) interrupted: watch::Receiver<Option<u8>>,
}

/// Server to which jobs are submitted, and the way to submit them.
#[derive(Clone, Debug)]
pub(super) struct ServerPlace {
    pub(super) state_dir: PathBuf,
    pub(super) priority: u32,
    /// Names this watch: with it and its content, a submission is told from every other.
    pub(super) evaluated: Digest,
    /// Set if it was said that no server answers.
    pub(super) is_away: Arc<AtomicBool>,
}

/// Reason why a job goes no further now.
#[derive(Debug)]
pub(super) enum Stop {
    /// Another content lies at the path.
    Changed,
    Failed(Failure),
    /// The process is asked to stop.
    Interrupted,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Returns whether the host is to blame, and not what was asked.
fn is_passing(failure: &Failure) -> bool {
    matches!(failure.code, exit::INFRASTRUCTURE | exit::LEADERSHIP_LOST)
}

/// Returns whether the run folder at `root` is made for a content. Its name does not tell: it may have been removed, and made again in
/// the same second for another one. A folder that names no content is one of an earlier version: its plan tells.
fn is_made_for(root: &Path, content: &Digest) -> bool {
    match RunFolder::made_for(root) {
        Some(made_for) => made_for == content.to_string(),
        None => RunFolder::at(root)
            .and_then(|folder| block_in_place(|| read_plan(&folder)).ok())
            .is_some_and(|(plan, ..)| planned_content(&plan) == Some(*content)),
    }
}

/// Returns whether something was recorded in the run folder at `root`.
fn has_results(root: &Path) -> bool {
    std::fs::read_dir(root.join("ledger")).is_ok_and(|mut entries| entries.next().is_some())
}

impl Jobs {
    /// Returns the event of a failure: another try where the host is to blame, an end where the input is.
    pub(super) fn failed(&self, task: &Task, failure: &Failure) -> Event {
        let (content, name) = (task.content, &task.name);
        if is_passing(failure) && task.postponed + 1 < TRIES {
            let text = format!("the job of {name} is tried again: {}", failure.diagnostics.message());
            compass_common::status_output::print_status(text);
            return Event::Postponed { content };
        }
        Event::Ended { content, ending: Ending { code: failure.code, reason: failure.diagnostics.message() } }
    }

    /// Tells the watch, and returns once it has recorded that.
    pub(super) async fn tell(&self, event: Event) {
        let (durable, is_durable) = oneshot::channel();
        if self.told.send(Told { event, durable }).await.is_ok() {
            // The watch is gone where this fails, and with it this task in a moment.
            let _ = is_durable.await;
        }
    }

    /// The planned run of a content: the one that was begun, or a new one, known to the watch before anything is in it.
    pub(super) async fn open(&self, task: &Task) -> Result<(Config, OpenedRun), Stop> {
        let config = self.subject.config(&task.name)?;
        let begun = task.folder.clone().filter(|name| is_made_for(&config.work_dir.join(name), &task.content));
        let name = match begun {
            Some(name) => {
                // One that was being removed when its process was killed is planned again.
                let _ = std::fs::create_dir_all(config.work_dir.join(&name).join("plan"));
                name
            }
            None => {
                let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
                let made = RunFolder::create_for(&config.work_dir, &stamp, &task.content);
                let name = made.map_err(|error| Failure::of_folder(&error))?.name();
                self.tell(Event::Placed { content: task.content, folder: name.clone() }).await;
                name
            }
        };
        let opened = Box::pin(open_in(&config, &self.request, &name)).await;
        let content = opened.as_ref().ok().and_then(|opened| planned_content(&opened.plan.as_ref()?.plan));
        if content == Some(task.content) {
            return Ok((config, opened?));
        }
        if let Err(failure) = opened {
            // A disk or a store that fails, or another process that works there: nothing is wrong with the folder.
            if is_passing(&failure) {
                return Err(failure.into());
            }
            let is_unchanged = self.is_unchanged(task);
            // What was computed is worth more than an empty place: the failure says what is damaged.
            if !is_unchanged || !has_results(&config.work_dir.join(&name)) {
                self.remove(&config, &name)?;
            }
            return Err(if is_unchanged { failure.into() } else { Stop::Changed });
        }
        // It was planned for what lies at the path by now.
        self.remove(&config, &name)?;
        Err(Stop::Changed)
    }

    /// Removes a run folder with all that it holds: the next try has a new one.
    fn remove(&self, config: &Config, name: &str) -> Result<(), Failure> {
        let path = config.work_dir.join(name);
        std::fs::remove_dir_all(&path)
            .map_err(|source| Failure::of_folder(&FolderError::Io { action: "remove", path, source }))
    }

    fn is_unchanged(&self, task: &Task) -> bool {
        let found = compass_watch::examine(&self.subject.parts(&task.name));
        found == compass_watch::Examined::Whole(task.content)
    }

    /// Returns whether the process is asked to stop: then no job is begun.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.borrow().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_that_of_the_content_it_was_made_for() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let made = RunFolder::create_for(folder.path(), "20260101_000000", &one).unwrap();
        assert!(is_made_for(made.root(), &one) && !is_made_for(made.root(), &other));
        // Removed, and made again under the same name for another one.
        std::fs::remove_dir_all(made.root()).unwrap();
        assert!(!is_made_for(made.root(), &one));
        let again = RunFolder::create_for(folder.path(), "20260101_000000", &other).unwrap();
        assert_eq!(again.root(), made.root());
        assert!(!is_made_for(made.root(), &one) && is_made_for(made.root(), &other));
        // A folder that names no content, and has no plan that tells, is made for no content.
        let plain = RunFolder::create(folder.path(), "20260101_000000").unwrap();
        assert!(!is_made_for(plain.root(), &one));
    }

    #[test]
    fn a_folder_has_results_once_its_ledger_has_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), "20260101_000000").unwrap();
        assert!(!has_results(run.root()) && !has_results(&folder.path().join("none")));
        std::fs::write(run.ledger().join("00000000-0"), "").unwrap();
        assert!(has_results(run.root()));
    }

    #[test]
    fn a_folder_that_is_cleared_is_there_all_the_time() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), "20260101_000000").unwrap();
        let number = |path: &Path| std::fs::metadata(path).unwrap().ino();
        let before = (number(&run.plan()), number(&run.ledger()));
        std::fs::create_dir_all(run.plan().join("parts")).unwrap();
        std::fs::write(run.plan().join("parts/x"), "").unwrap();
        std::fs::write(run.ledger().join("00000000-imported"), "").unwrap();
        run.clear().unwrap();
        assert_eq!((number(&run.plan()), number(&run.ledger())), before);
        for cleared in [run.plan(), run.ledger()] {
            assert_eq!(std::fs::read_dir(cleared).unwrap().count(), 0);
        }
    }
}
