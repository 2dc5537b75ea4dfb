//! The job of one content: its run folder, its plan, and what tells the watch of it.

use super::here;
use super::served;
use super::subject::{Subject, planned_content};
use crate::exit;
use crate::job::{Failure, JobRequest, OpenedRun, open_in};
use crate::pipeline::{FolderError, RunFolder};
use compass_config::Config;
use compass_types::ids::Digest;
use compass_watch::{Ending, Event};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::{mpsc, oneshot, watch};

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
    /// How often it could not begin.
    pub(super) postponed: u32,
}

/// What all jobs have in common.
#[derive(Clone, Debug)]
pub(super) struct Jobs {
    pub(super) subject: Arc<Subject>,
    pub(super) request: JobRequest,
    /// Where they are submitted; `None` where they run in this process.
    pub(super) server: Option<ServerPlace>,
    pub(super) told: mpsc::Sender<Told>,
    pub(super) interrupted: watch::Receiver<Option<u8>>,
}

/// Where jobs are submitted, and how.
#[derive(Clone, Debug)]
pub(super) struct ServerPlace {
    pub(super) state_dir: PathBuf,
    pub(super) priority: u32,
    /// Names this watch: with it and its content, a submission is told from every other.
    pub(super) evaluated: Digest,
    /// Whether it was said that no server answers.
    pub(super) is_away: Arc<AtomicBool>,
}

/// Why a job goes no further now.
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

impl Jobs {
    /// Runs the job of a content to its end, and tells the watch.
    pub(super) async fn run(self, task: Task) {
        let Task { content, name, .. } = task.clone();
        let event = match self.run_to_its_end(&task).await {
            Ok(ending) => Event::Ended { content, ending },
            Err(Stop::Changed) => Event::Changed { content, name },
            Err(Stop::Interrupted) => return,
            Err(Stop::Failed(failure)) => self.failed(&task, &failure),
        };
        self.tell(event).await;
    }

    async fn run_to_its_end(&self, task: &Task) -> Result<Ending, Stop> {
        match &self.server {
            None => Box::pin(here::run(self, task)).await,
            Some(server) => Box::pin(served::run(self, server, task)).await,
        }
    }

    /// What a failure means: another try where the host is to blame, an end where the input is.
    fn failed(&self, task: &Task, failure: &Failure) -> Event {
        let (content, name) = (task.content, &task.name);
        let is_passing = matches!(failure.code, exit::INFRASTRUCTURE | exit::LEADERSHIP_LOST);
        if is_passing && task.postponed + 1 < TRIES {
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
        let folder = task.folder.clone().filter(|folder| config.work_dir.join(folder).is_dir());
        let folder = match folder {
            Some(folder) => folder,
            None => {
                let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
                let made = RunFolder::create(&config.work_dir, &stamp).map_err(|error| Failure::of_folder(&error))?;
                let event = Event::Placed { content: task.content, folder: made.name() };
                self.tell(event).await;
                made.name()
            }
        };
        let opened = Box::pin(open_in(&config, &self.request, &folder)).await;
        let content = opened.as_ref().ok().and_then(|opened| planned_content(&opened.plan.as_ref()?.plan));
        if content == Some(task.content) {
            return Ok((config, opened?));
        }
        // Nothing of it was granted or submitted: it was planned for what lies at the path by now.
        let root = config.work_dir.join(&folder);
        std::fs::remove_dir_all(&root).map_err(|source| {
            let action = "remove";
            Failure::of_folder(&FolderError::Io { action, path: root.clone(), source })
        })?;
        match opened {
            Err(failure) if self.is_unchanged(task) => Err(failure.into()),
            _ => Err(Stop::Changed),
        }
    }

    fn is_unchanged(&self, task: &Task) -> bool {
        let found = compass_watch::examine(&self.subject.parts(&task.name));
        found == compass_watch::Examined::Whole(task.content)
    }

    /// Why a job is not begun: the process is asked to stop.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.borrow().is_some()
    }
}
