//! The scheduler's state: tasks, workers, what is recorded.

use super::bars::{Bars, Supply};
use super::checkpoint::Checkpoint;
use super::deadlines::Deadlines;
use super::duplicates::Duplicates;
use super::effect::{Effect, Message, Record, Seq};
use super::failure_notes::FailureNotes;
use super::labels::Labels;
use super::limits::Limits;
use super::misfit_record::Misfits;
use super::progress::Progress;
use super::queue::Queue;
use super::recorded::Recorded;
use super::recovering::Recovering;
use super::room_wait::RoomWait;
use super::speeds::Speeds;
use super::standstill_state::Standstill;
use super::steal_timing::StealTiming;
use super::task::{Task, TaskOwner, TaskState, TaskView};
use super::task_table::{Change, TaskTable, To};
use super::words::some;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use super::worker_table::WorkerTable;
use compass_types::ids::{Epoch, GrantId, ModelId, TaskId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// The scheduler of one job, driven by [`Core::apply`].
///
/// One job per core: several jobs are several cores, and who of them is asked first when a worker has credit is for their
/// owner to say; nothing here knows of others.
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) epoch: Epoch,
    pub(super) limits: Limits,
    /// Time of the event under way.
    pub(super) now: u64,
    pub(super) tasks: TaskTable,
    pub(super) queue: Queue,
    pub(super) recovering: Recovering,
    pub(super) workers: WorkerTable,
    pub(super) recorded: Recorded,
    pub(super) duplicates: Duplicates,
    pub(super) speeds: Speeds,
    pub(super) bars: Bars,
    pub(super) misfits: Misfits,
    pub(super) room_wait: RoomWait,
    pub(super) timing: StealTiming,
    pub(super) deadlines: Deadlines,
    pub(super) standstill: Standstill,
    pub(super) checkpoint: Checkpoint,
    pub(super) failure_notes: FailureNotes,
    pub(super) labels: Labels,
    pub(super) last_seq: Seq,
    pub(super) counters: Progress,
    pub(super) finished: bool,
    /// Models of which nothing more is wanted, and why.
    pub(super) stopped: BTreeMap<ModelId, String>,
}

impl Core {
    /// A scheduler for `tasks`, whose samples are not in `recorded`. Tasks are granted in the order given.
    pub fn new(epoch: Epoch, limits: Limits, tasks: Vec<TaskView>, recorded: Recorded) -> Self {
        let supply = if limits.others_may_come { Supply::Possible } else { Supply::None };
        let mut core = Self {
            epoch,
            workers: WorkerTable::new(limits.infrastructure.max(1)),
            limits,
            now: 0,
            tasks: TaskTable::with_capacity(tasks.len()),
            queue: Queue::default(),
            recovering: Recovering::default(),
            recorded,
            duplicates: Duplicates::default(),
            speeds: Speeds::default(),
            bars: Bars::new(supply),
            misfits: Misfits::default(),
            room_wait: RoomWait::default(),
            timing: StealTiming::default(),
            deadlines: Deadlines::default(),
            standstill: Standstill::default(),
            checkpoint: Checkpoint::default(),
            failure_notes: FailureNotes::default(),
            labels: Labels::default(),
            last_seq: Seq(0),
            counters: Progress::default(),
            finished: false,
            stopped: BTreeMap::new(),
        };
        for view in tasks {
            if let Some(change) = core.tasks.add_view(view) {
                core.follow(change);
            }
        }
        core
    }

    /// Takes a task into another state; queue and holders follow.
    pub(super) fn transition(&mut self, id: TaskId, to: To) {
        if let Some(change) = self.tasks.transition(id, to) {
            self.follow(change);
        }
    }

    /// Lets the owners beside the tasks follow what has become of one.
    pub(super) fn follow(&mut self, Change { id, from, to }: Change) {
        let Some(task) = self.tasks.get(id) else { return };
        let (model, ticks) = (task.model, self.deadlines.ticks());
        match from {
            TaskOwner::Queue => self.queue.remove(id, task),
            TaskOwner::Recovering => self.recovering.remove(id),
            TaskOwner::Worker(worker) => {
                self.workers.change(worker, |holder| {
                    if holder.held.remove(&id) {
                        holder.models.ended(model);
                        holder.idle_since_tick = ticks;
                    }
                });
            }
            TaskOwner::Closed => {}
        }
        let Some(task) = self.tasks.get(id) else { return };
        match to {
            TaskOwner::Queue => self.queue.insert(id, task),
            TaskOwner::Recovering => self.recovering.insert(id),
            TaskOwner::Worker(worker) => {
                self.workers.change(worker, |holder| holder.held.insert(id));
            }
            TaskOwner::Closed => {}
        }
    }

    /// A task of its own for those of the samples that are open and whose task is `free`; `None` when there are none.
    pub(super) fn carve(
        &mut self,
        unit: UnitId,
        samples: &IntervalSet,
        free: impl Fn(TaskId, &Task) -> bool,
    ) -> Option<TaskId> {
        let (id, changes) = self.tasks.carve(unit, samples, free)?;
        changes.into_iter().for_each(|change| self.follow(change));
        Some(id)
    }

    /// Returns the number of tasks that have failed or are in quarantine.
    pub fn failed_tasks(&self) -> u32 {
        self.tasks.failed()
    }

    /// Calls models and data sets by their names.
    #[must_use]
    pub fn labelled(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// Returns whether a worker is counted on: attached, and within its lease.
    pub fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Returns whether nothing is left to do: every task is done, failed or in quarantine.
    pub fn is_finished(&self) -> bool {
        self.tasks.open() == 0
    }

    /// Samples that stay without a result, those included that were to get the result of one of them: unit, samples, why.
    pub fn failures(&self) -> Vec<(UnitId, IntervalSet, String)> {
        let failed = self.tasks.iter().filter_map(|(_, task)| match &task.state {
            TaskState::Failed { message, .. } => Some((task, message.clone())),
            TaskState::Quarantined { message, workers } => {
                Some((task, format!("{message} (the same on {})", some(workers.len() as u64, "worker"))))
            }
            _ => None,
        });
        let by_unit = failed.flat_map(|(task, why)| {
            let all = self.with_their_duplicates(task.unit, &task.remaining);
            all.into_iter().map(move |(unit, samples)| (unit, samples, why.clone()))
        });
        by_unit.collect()
    }

    /// The tasks that have failed or are in quarantine.
    pub fn failed_task_ids(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.iter().filter(|(_, task)| task.has_failed()).map(|(id, _)| id)
    }

    /// Returns the number of samples in [`Self::failures`].
    pub fn failed_samples(&self) -> u64 {
        let failed = self.tasks.iter().filter(|(_, task)| task.has_failed());
        let all = failed.flat_map(|(_, task)| self.with_their_duplicates(task.unit, &task.remaining));
        all.map(|(_, samples)| samples.len() as u64).sum()
    }

    /// The highest number that was given to a record.
    pub fn last_seq(&self) -> Seq {
        self.last_seq
    }

    pub(super) fn persist(&mut self, record: Record, effects: &mut Vec<Effect>) -> Seq {
        self.last_seq.0 += 1;
        effects.push(Effect::Persist { seq: self.last_seq, record });
        self.last_seq
    }

    pub(super) fn send(&self, worker: WorkerIx, message: Message, after: Seq, effects: &mut Vec<Effect>) {
        effects.push(Effect::Send { worker: self.workers.name(worker).clone(), message, after });
    }

    pub(super) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// Returns whether this is the grant that the task is out on now.
    pub fn is_live(&self, worker: &WorkerId, grant: &GrantId) -> bool {
        self.workers.find(worker).is_some_and(|worker| self.holds(worker, grant))
    }

    /// Returns whether the task is out at the worker under this grant.
    pub(super) fn holds(&self, worker: WorkerIx, grant: &GrantId) -> bool {
        grant.epoch == self.epoch
            && self.task(grant.task).is_some_and(|task| {
                task.attempt == grant.attempt
                    && matches!(task.state, TaskState::Granted { worker: holder, .. } if holder == worker)
            })
    }

    /// Returns whether a worker takes no more: it drains, or is wanted elsewhere.
    pub fn is_going(&self, worker: &WorkerId) -> bool {
        self.workers.named(worker).is_some_and(Worker::is_draining)
    }

    /// Returns whether a grant may leave now that it is durable: meanwhile it may have gone to another, or its worker may
    /// have said that it cannot load the model, which then has been asked for the grant already.
    pub fn may_leave(&self, worker: &WorkerId, grant: &GrantId) -> bool {
        let model = self.task(grant.task).map(|task| task.model);
        let barred =
            self.workers.named(worker).zip(model).is_some_and(|(worker, model)| worker.barred.contains(&model));
        self.is_live(worker, grant) && !barred
    }

    /// Returns the number of recorded samples of each unit that has any.
    pub fn recorded_by_unit(&self) -> impl Iterator<Item = (UnitId, u64)> {
        self.recorded.by_unit()
    }

    /// The counters now.
    pub fn progress(&self) -> Progress {
        Progress {
            recorded: self.recorded.len(),
            open_tasks: self.tasks.open(),
            granted: self.tasks.granted(),
            workers: self.workers.indexes().connected(),
            slots: self.workers.indexes().connected_slots(),
            ..self.counters.clone()
        }
    }
}
