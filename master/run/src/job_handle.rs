//! The handle of a job: where it stands, and where commands to it are received, whatever stage it is in.
//!
//! A stage opens the handle when it begins and closes it with its end; in between there is no leader to ask. That the job was
//! cancelled is remembered here, so that a stage which begins later hears of it.

use compass_progress::RunView;
use compass_scheduler::{Core, Event, Shortage, SlotDemand};
use compass_store::LeadershipStatus;
use compass_types::ids::{TaskId, WorkerId};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// Questions and wishes that may wait for the driver.
const WAITING: usize = 64;

/// Request to a stage's driver.
#[derive(Debug)]
pub enum JobCommand {
    /// For the scheduler.
    Apply(Event),
    /// Asks why nothing more is running.
    Job(oneshot::Sender<JobReasons>),
    /// Asks for the state of a task.
    Task(TaskId, oneshot::Sender<Option<String>>),
    /// Asks what a worker is doing.
    Worker(WorkerId, oneshot::Sender<Option<String>>),
}

/// Reasons for which nothing more of a job is running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobReasons {
    /// Tasks, workers or slots that it is short of.
    pub shortage: Option<Shortage>,
    /// States of the pools that have not brought what they should.
    pub launchers: Vec<String>,
    /// States of its tasks, in words.
    pub lines: Vec<String>,
}

/// Channel on which a driver says what its job could use.
#[derive(Clone, Debug)]
pub struct DemandPublisher(watch::Sender<SlotDemand>);

impl DemandPublisher {
    pub(super) fn publish(&self, core: &Core) {
        self.0.send_replace(core.wanted());
    }
}

impl From<watch::Sender<SlotDemand>> for DemandPublisher {
    fn from(wanted: watch::Sender<SlotDemand>) -> Self {
        Self(wanted)
    }
}

/// Handle of a running job, for status and commands. Cheap to clone: all clones are one handle.
#[derive(Clone, Debug, Default)]
pub struct JobHandle(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    stage: Option<Stage>,
    /// Activity of the job, last or now.
    doing: &'static str,
    last_view: RunView,
    cancelled: Option<String>,
    /// Master that leads, while this one stands by.
    stands_by: Option<String>,
    /// The table, once it is made.
    table: Option<String>,
}

#[derive(Debug)]
struct Stage {
    commands: mpsc::Sender<JobCommand>,
    view: watch::Receiver<RunView>,
    /// Certainty of this master's lead in the job.
    status: watch::Receiver<LeadershipStatus>,
    began: Instant,
}

/// State of a stage, for health checks.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// Time since its scheduler last showed itself.
    pub silent_for: Duration,
    pub status: LeadershipStatus,
}

impl JobHandle {
    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A stage begins; what it is asked from now on.
    pub fn open(
        &self,
        doing: &'static str,
        view: watch::Receiver<RunView>,
        status: watch::Receiver<LeadershipStatus>,
    ) -> mpsc::Receiver<JobCommand> {
        let (commands, asked) = mpsc::channel(WAITING);
        self.with(|inner| {
            if let Some(reason) = inner.cancelled.clone() {
                // The channel is empty.
                let _ = commands.try_send(JobCommand::Apply(Event::Cancel { reason }));
            }
            let stage = Stage { commands, view, status, began: Instant::now() };
            (inner.stage, inner.doing, inner.stands_by) = (Some(stage), doing, None);
        });
        asked
    }

    /// The stage is over.
    pub fn close(&self) {
        self.with(|inner| {
            if let Some(stage) = inner.stage.take() {
                inner.last_view = stage.view.borrow().clone();
            }
        });
    }

    /// The last that is known of a job which ended under another master.
    pub fn recall(&self, view: RunView) {
        self.with(|inner| inner.last_view = view);
    }

    /// Sets what the job does between stages.
    pub fn doing(&self, doing: &'static str) {
        self.with(|inner| inner.doing = doing);
    }

    /// Another master leads the job, in words; `None` once none does.
    pub(super) fn stand_by(&self, for_whom: Option<String>) {
        self.with(|inner| inner.stands_by = for_whom);
    }

    /// Returns which master leads, in words, while this one stands by.
    pub fn stands_by(&self) -> Option<String> {
        self.with(|inner| inner.stands_by.clone())
    }

    /// The job has its table.
    pub fn keep_table(&self, table: String) {
        self.with(|inner| inner.table = Some(table));
    }

    /// The table, once it is made.
    pub fn table(&self) -> Option<String> {
        self.with(|inner| inner.table.clone())
    }

    /// Returns what the job does, and its progress.
    pub fn view(&self) -> (&'static str, RunView) {
        self.with(|inner| {
            let view = inner.stage.as_ref().map(|stage| stage.view.borrow().clone());
            (inner.doing, view.filter(|view| !view.job.is_empty()).unwrap_or_else(|| inner.last_view.clone()))
        })
    }

    /// Returns the state of the stage, if there is one. A driver shows itself every few seconds, whether anything has
    /// changed or not.
    pub fn pulse(&self) -> Option<Pulse> {
        self.with(|inner| {
            let stage = inner.stage.as_ref()?;
            let renewed = stage.view.borrow().renewed.unwrap_or(stage.began);
            Some(Pulse { silent_for: renewed.elapsed(), status: stage.status.borrow().clone() })
        })
    }

    /// Nothing more of the job is wanted, in this stage or a later one. Whether this is new.
    pub async fn cancel(&self, reason: String) -> bool {
        let (new, commands) = self.with(|inner| {
            let new = inner.cancelled.is_none();
            inner.cancelled.get_or_insert_with(|| reason.clone());
            (new, inner.stage.as_ref().map(|stage| stage.commands.clone()))
        });
        if let Some(commands) = commands.filter(|_| new) {
            // A stage that has just ended has nothing left to take back.
            let _ = commands.send(JobCommand::Apply(Event::Cancel { reason })).await;
        }
        new
    }

    /// Returns the reason for which the job was cancelled, if it was.
    pub fn cancelled(&self) -> Option<String> {
        self.with(|inner| inner.cancelled.clone())
    }

    /// Tells the stage's scheduler something, if there is one.
    pub async fn tell(&self, event: Event) {
        if let Some(commands) = self.with(|inner| inner.stage.as_ref().map(|stage| stage.commands.clone())) {
            let _ = commands.send(JobCommand::Apply(event)).await;
        }
    }

    /// Puts a question to the stage; `None` when there is none to answer.
    pub async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> JobCommand) -> Option<T> {
        let commands = self.with(|inner| inner.stage.as_ref().map(|stage| stage.commands.clone()))?;
        let (reply, answer) = oneshot::channel();
        commands.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stage_that_begins_after_the_job_was_cancelled_hears_of_it() {
        let job_handle = JobHandle::default();
        assert!(job_handle.cancel("enough".into()).await);
        assert!(!job_handle.cancel("again".into()).await, "the first reason stands");
        let (_views, view) = watch::channel(RunView::default());
        let (_standing, status) = watch::channel(LeadershipStatus::Sure);
        let mut asked = job_handle.open("infer", view, status);
        assert!(matches!(asked.recv().await, Some(JobCommand::Apply(Event::Cancel { reason })) if reason == "enough"));
    }

    #[tokio::test]
    async fn nobody_waits_for_an_answer_of_a_stage_that_is_over() {
        let job_handle = JobHandle::default();
        assert_eq!(job_handle.ask(JobCommand::Job).await, None);
        let (views, view) = watch::channel(RunView::default());
        let (_standing, status) = watch::channel(LeadershipStatus::Sure);
        let asked = job_handle.open("infer", view, status);
        views.send_replace(RunView { job: "j".into(), recorded_samples: 7, ..RunView::default() });
        drop(asked);
        assert_eq!(job_handle.ask(JobCommand::Job).await, None);
        job_handle.close();
        assert_eq!(job_handle.view().1.recorded_samples, 7, "the last that was seen");
    }
}
