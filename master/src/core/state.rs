//! The scheduler's state: tasks, workers, what is recorded.

use super::effect::{Effect, Message, Record, Seq};
use super::event::{ConnectionId, FailureClass, GrantRef, SandboxState};
use super::recorded::Recorded;
use compass_common::ids::{Attempt, Epoch, TaskId, UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet};

/// The bounds that a job runs within. Times in milliseconds.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A worker that was silent for so long is no longer counted on: its grants go to others.
    pub lease_ttl: u64,
    /// A connection that was silent for so long is cut.
    pub silence: u64,
    /// Transient failures of a task that are followed by another try.
    pub retry: u32,
    /// Losses of a task's worker, with nothing recorded in between, that are followed by another try.
    pub losses: u32,
    /// A worker that holds tasks and has handed in nothing for so long is named on the screen, then at twice the time.
    pub stall: u64,
    /// Replica slots of all workers together; `None` takes whatever comes.
    pub max_slots: Option<u32>,
    /// Whether workers may come that nobody has launched: what no worker can do now then waits for one that can.
    pub others_may_come: bool,
    /// Whether another stage follows, for which workers are to stay.
    pub workers_stay: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lease_ttl: 30_000,
            silence: 15_000,
            retry: 2,
            losses: 4,
            stall: 60_000,
            max_slots: None,
            others_may_come: true,
            workers_stay: false,
        }
    }
}

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    Pending,
    Granted { worker: WorkerId },
    Done,
    Failed { class: FailureClass, message: String },
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) unit: UnitId,
    pub(super) model: u32,
    pub(super) requires: Requires,
    pub(super) remaining: IntervalSet,
    pub(super) attempt: Attempt,
    pub(super) state: TaskState,
    pub(super) transient_failures: u32,
    pub(super) losses: u32,
}

/// What a worker must have to run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requires {
    /// Nothing: every worker has the echo engine.
    Echo,
    /// libtorch.
    Engine,
    /// An isolation that holds programs which a model wrote.
    Sandbox,
}

/// A task to schedule: part of one unit.
#[derive(Clone, Debug)]
pub struct TaskView {
    pub unit: UnitId,
    /// Position of the unit's model: what a worker keeps resident.
    pub model: u32,
    /// What a worker must have to run it.
    pub requires: Requires,
    /// Samples to run.
    pub samples: IntervalSet,
    /// The highest attempt that was ever durable for this task.
    pub attempt: Attempt,
}

#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) connection: Option<ConnectionId>,
    pub(super) session: String,
    pub(super) slots: u32,
    pub(super) has_engine: bool,
    pub(super) sandbox: SandboxState,
    pub(super) credit: u32,
    pub(super) held: BTreeSet<TaskId>,
    pub(super) resident: Option<u32>,
    pub(super) last_heard: u64,
    pub(super) draining: bool,
    /// When it last handed anything in, or had nothing to hand in.
    pub(super) last_progress: u64,
    /// How long it may hand in nothing until it is named next.
    pub(super) stall: u64,
    /// Whether a sample was recorded from it since it attached.
    pub(super) recorded_any: bool,
}

/// How far the job is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Samples recorded, of all epochs.
    pub recorded: u64,
    /// Tasks that are neither done nor failed.
    pub open_tasks: u32,
    /// Tasks granted now.
    pub granted: u32,
    /// Workers whose stream is up.
    pub workers: u32,
    /// Their slots.
    pub slots: u32,
    /// Grants that followed an earlier attempt of the same task.
    pub retries: u64,
    /// Results that came a second time.
    pub repeats: u64,
    /// Results that came a second time and differed.
    pub divergences: u64,
}

/// The scheduler of one job. See [`Core::apply`].
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) epoch: Epoch,
    pub(super) limits: Limits,
    pub(super) tasks: Vec<Task>,
    pub(super) pending: BTreeSet<TaskId>,
    /// unit -> first index -> (end, task): which task a sample belongs to.
    pub(super) homes: BTreeMap<UnitId, BTreeMap<u32, (u32, TaskId)>>,
    pub(super) workers: BTreeMap<WorkerId, Worker>,
    pub(super) recorded: Recorded,
    pub(super) last_seq: Seq,
    pub(super) retries: u64,
    pub(super) repeats: u64,
    pub(super) divergences: u64,
    pub(super) finished: bool,
}

impl Core {
    /// A scheduler for `tasks`, whose samples are not in `recorded`. Tasks are granted in the order given.
    pub fn new(epoch: Epoch, limits: Limits, tasks: Vec<TaskView>, recorded: Recorded) -> Self {
        let mut homes: BTreeMap<UnitId, BTreeMap<u32, (u32, TaskId)>> = BTreeMap::new();
        let mut pending = BTreeSet::new();
        let mut inner = Vec::with_capacity(tasks.len());
        for (at, task) in tasks.into_iter().enumerate() {
            let id = TaskId(at as u32);
            for &(first, end) in task.samples.pairs() {
                homes.entry(task.unit).or_default().insert(first, (end, id));
            }
            let done = task.samples.is_empty();
            if !done {
                pending.insert(id);
            }
            inner.push(Task {
                unit: task.unit,
                model: task.model,
                requires: task.requires,
                remaining: task.samples,
                attempt: task.attempt,
                state: if done { TaskState::Done } else { TaskState::Pending },
                transient_failures: 0,
                losses: 0,
            });
        }
        Self {
            epoch,
            limits,
            tasks: inner,
            pending,
            homes,
            workers: BTreeMap::new(),
            recorded,
            last_seq: Seq(0),
            retries: 0,
            repeats: 0,
            divergences: 0,
            finished: false,
        }
    }

    /// Whether a worker is counted on: attached, and within its lease.
    pub fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Whether every task is done or failed.
    pub fn is_finished(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.state, TaskState::Done | TaskState::Failed { .. }))
    }

    /// Counters for the screen and `logs/run.json`.
    pub fn progress(&self) -> Progress {
        let up = || self.workers.values().filter(|worker| worker.connection.is_some());
        let granted = |task: &&Task| matches!(task.state, TaskState::Granted { .. });
        Progress {
            recorded: self.recorded.len(),
            open_tasks: (self.tasks.iter().filter(|task| task.is_open())).count() as u32,
            granted: self.tasks.iter().filter(granted).count() as u32,
            workers: up().count() as u32,
            slots: up().map(|worker| worker.slots).sum(),
            retries: self.retries,
            repeats: self.repeats,
            divergences: self.divergences,
        }
    }

    /// Failed tasks: unit, the samples that stay without a result, and why.
    pub fn failures(&self) -> Vec<(UnitId, IntervalSet, String)> {
        let failed = self.tasks.iter().filter_map(|task| match &task.state {
            TaskState::Failed { message, .. } => Some((task.unit, task.remaining.clone(), message.clone())),
            _ => None,
        });
        failed.collect()
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

    pub(super) fn send(&self, worker: &WorkerId, message: Message, after: Seq, effects: &mut Vec<Effect>) {
        effects.push(Effect::Send { worker: worker.clone(), message, after });
    }

    pub(super) fn home_of(&self, unit: UnitId, index: u32) -> Option<TaskId> {
        let (_, &(end, task)) = self.homes.get(&unit)?.range(..=index).next_back()?;
        (index < end).then_some(task)
    }

    pub(super) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.0 as usize)
    }

    pub(super) fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id.0 as usize)
    }

    /// Whether this is the grant that the task is out on now.
    pub fn is_live(&self, worker: &WorkerId, grant: &GrantRef) -> bool {
        grant.epoch == self.epoch
            && self.task(grant.task).is_some_and(|task| {
                task.attempt == grant.attempt && task.state == TaskState::Granted { worker: worker.clone() }
            })
    }
}

impl Worker {
    /// Whether it has what a task requires.
    pub(super) fn suits(&self, requires: Requires) -> bool {
        match requires {
            Requires::Echo => true,
            Requires::Engine => self.has_engine,
            Requires::Sandbox => self.sandbox == SandboxState::Works,
        }
    }
}

impl Task {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, TaskState::Pending | TaskState::Granted { .. })
    }
}
