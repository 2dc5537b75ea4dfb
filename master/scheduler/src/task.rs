//! A task: an interval set of samples of one unit, and where it stands.

use super::event::FailureClass;
use super::hold::Hold;
use super::worker_ids::WorkerIx;
use compass_types::ids::{Attempt, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeSet;

/// State of a task.
///
/// A grant's deadline is its worker's: the lease of everything that a worker holds runs from when it was heard last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    /// Waits in the queue.
    Pending,
    /// An older leader granted it to this worker, which may come back with it: no other worker gets it meanwhile.
    Recovering { worker: WorkerId },
    /// Out, under the task's present attempt.
    Granted { worker: WorkerIx, hold: Hold },
    /// Every sample is recorded.
    Done,
    /// A budget is spent.
    Failed { class: FailureClass, message: String },
    /// The same error on two distinct workers: it is the samples' own.
    Quarantined { message: String, workers: BTreeSet<WorkerIx> },
}

/// Owner, beside the table, of what is known of a task in some state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskOwner {
    Queue,
    Recovering,
    Worker(WorkerIx),
    /// None: the task is not open.
    Closed,
}

/// Requirement of a task on its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Requires {
    /// Nothing: every worker has the echo engine, and asks endpoints.
    Echo,
    /// libtorch.
    Engine,
    /// An isolation that holds programs which a model wrote.
    Sandbox,
}

impl Requires {
    /// Number of requirements.
    pub(super) const KINDS: usize = 3;
    pub(super) const ALL: [Self; Self::KINDS] = [Self::Echo, Self::Engine, Self::Sandbox];
}

/// A task to schedule: part of one unit.
#[derive(Clone, Debug)]
pub struct TaskView {
    pub unit: UnitId,
    /// Position of the unit's model: what a worker keeps resident.
    pub model: ModelId,
    /// Requirement on the worker that runs it.
    pub requires: Requires,
    /// Samples to run.
    pub samples: IntervalSet,
    /// The highest attempt that was ever durable for this task.
    pub attempt: Attempt,
    /// Cost of one of its samples, in any unit that is the same for all tasks of a model.
    pub sample_cost: u64,
    /// Cost at most of computing once more what its samples have in common with others of the unit.
    pub shared_cost: u64,
}

/// Samples that an older leader granted and whose end nothing tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    pub worker: WorkerId,
    pub unit: UnitId,
    pub samples: IntervalSet,
}

/// Failures of a task so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    pub(super) transient: u32,
    pub(super) infrastructure: u32,
    /// Workers lost with nothing recorded since.
    pub(super) losses: u32,
    /// Set if the next grant follows one that failed or was lost.
    pub(super) again: bool,
    /// The latest words, and who said them.
    pub(super) message: String,
    pub(super) workers: BTreeSet<WorkerIx>,
    /// Workers that held it and did not begin it.
    pub(super) unbegun_on: BTreeSet<WorkerIx>,
    /// Workers in whose memory the samples have no room.
    pub(super) no_room_on: BTreeSet<WorkerIx>,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) unit: UnitId,
    pub(super) model: ModelId,
    pub(super) requires: Requires,
    pub(super) sample_cost: u64,
    pub(super) shared_cost: u64,
    pub(super) remaining: IntervalSet,
    pub(super) attempt: Attempt,
    pub(super) state: TaskState,
    pub(super) failures: Failures,
    /// Set if it is granted before others: a worker that could not load its model handed it back.
    pub(super) first: bool,
}

impl Task {
    /// Owner of what is known of it beside its table.
    pub(super) fn place(&self) -> TaskOwner {
        match self.state {
            TaskState::Pending => TaskOwner::Queue,
            TaskState::Recovering { .. } => TaskOwner::Recovering,
            TaskState::Granted { worker, .. } => TaskOwner::Worker(worker),
            TaskState::Done | TaskState::Failed { .. } | TaskState::Quarantined { .. } => TaskOwner::Closed,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, TaskState::Pending | TaskState::Recovering { .. } | TaskState::Granted { .. })
    }

    /// Returns true if the task goes to another worker than this one, where another is there.
    pub(super) fn has_failed_on(&self, worker: WorkerIx) -> bool {
        self.failures.workers.contains(&worker) || self.failures.unbegun_on.contains(&worker)
    }

    /// Returns whether its samples have no room in the memory of some worker: it waits behind all others, for another one.
    pub(super) fn lacks_room(&self) -> bool {
        !self.failures.no_room_on.is_empty()
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, TaskState::Failed { .. } | TaskState::Quarantined { .. })
    }

    /// Returns whether it waits, or waits for `worker`, or is out at `worker`. A task that waits for another one is not
    /// free: that one may be at it, within its lease, whatever this one held before.
    pub(super) fn is_free_for(&self, worker: WorkerIx, name: &WorkerId) -> bool {
        match &self.state {
            TaskState::Pending => true,
            TaskState::Recovering { worker: holder } => holder == name,
            TaskState::Granted { worker: holder, .. } => *holder == worker,
            _ => false,
        }
    }

    /// Returns the state of the revocation of its grant; `None` while it is not granted.
    pub(super) fn hold(&self) -> Option<Hold> {
        match self.state {
            TaskState::Granted { hold, .. } => Some(hold),
            _ => None,
        }
    }

    /// Returns the number of samples that its holder was asked to return and has not answered for.
    pub(super) fn asked(&self) -> u32 {
        self.hold().map_or(0, Hold::asked)
    }

    /// Returns whether its holder may be asked for some of it.
    pub(super) fn is_revocable(&self) -> bool {
        self.hold().is_some_and(|hold| matches!(hold, Hold::Unasked | Hold::Begun))
    }

    /// Returns true if its holder has begun the task: it has said so, or had nothing to return.
    pub(super) fn is_under_way(&self) -> bool {
        self.hold().is_some_and(|hold| hold.has_begun() || matches!(hold, Hold::Exhausted { .. }))
    }

    /// Returns whether its holder has said that it is at its samples.
    pub(super) fn has_begun(&self) -> bool {
        self.hold().is_some_and(Hold::has_begun)
    }

    /// Returns the cost that is left of it, in its unit of cost.
    pub(super) fn cost(&self) -> u64 {
        self.sample_cost.saturating_mul(u64::from(self.remaining.len()))
    }
}
