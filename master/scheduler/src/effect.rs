//! Actions that the scheduler wants done.

use super::event::{ConnectionId, Handed, HeldGrant};
use compass_types::ids::{Attempt, GrantId, ModelId, TaskId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;

/// The number of a durable record. Everything up to the number that the committer confirmed is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seq(pub u64);

/// Something to make durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Into the store: the attempt that is about to be granted, and to whom, for the next leader.
    Attempt { task: TaskId, holder: Holder },
    /// Into the store: all that is out, in place of every attempt before.
    Out { holders: Vec<Holder> },
    /// Into the ledger: the first result of a sample.
    Sample { unit: UnitId, grant: GrantId, worker: WorkerId, handed: Handed },
    /// Into the ledger: the first result of another sample, whose request is equal, as that of this one.
    Duplicate { unit: UnitId, index: u32, grant: GrantId, worker: WorkerId, original: Handed },
    /// Into the ledger: a later result that differs from the recorded one.
    Divergence {
        unit: UnitId,
        grant: GrantId,
        worker: WorkerId,
        handed: Handed,
        /// Set if the recorded one comes from a device of the same type.
        same_device: bool,
    },
    /// Into the ledger, as evidence: a result that does not fit the plan. The worker's report on it says nothing.
    Misfit { unit: UnitId, grant: GrantId, worker: WorkerId, result: Vec<u8> },
    /// Into the ledger: what a worker made of its own results.
    Report { worker: WorkerId, report: Vec<u8> },
    /// Into the ledger: which weights of a model count, as the first worker found them that loaded it.
    Pin { worker: WorkerId, model: ModelId, pin: Vec<u8> },
}

/// Worker that was given samples, under this attempt of their task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub worker: WorkerId,
    pub unit: UnitId,
    pub attempt: Attempt,
    pub samples: IntervalSet,
}

/// Part of an earlier grant that a worker keeps: its name from now on, and its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptGrant {
    /// The name under which it held them.
    pub held: GrantId,
    /// The name and the samples from now on.
    pub now: HeldGrant,
}

/// Something to tell a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// First answer to the hello on `connection`, void on any other; `max_slots` is what capacity leaves to this worker.
    /// Of what it holds it keeps `kept`; what is not in it, it must not begin.
    Welcome { connection: ConnectionId, max_slots: u32, kept: Vec<KeptGrant> },
    /// Run these samples; up to `slots` slots of the worker may hold their model.
    Grant { grant: GrantId, unit: UnitId, samples: IntervalSet, slots: u32 },
    /// Begin no further sample of this grant, or of `samples` of it where they are named: those that have not begun are to
    /// be returned; with `only_unbegun` only if none of the grant has.
    Revoke { grant: GrantId, samples: Option<IntervalSet>, reason: &'static str, only_unbegun: bool },
    /// Hand back what has not begun, finish the rest, and dial again when all of it is acknowledged: another job waits.
    Release,
    /// The session cannot be.
    Refused { reason: String },
    /// Nothing is left to do.
    Shutdown { reason: &'static str },
}

/// An output of [`super::Core::apply`].
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make this durable under this number; numbers ascend without gaps.
    Persist { seq: Seq, record: Record },
    /// Tell a worker, once everything up to `after` is durable.
    Send { worker: WorkerId, message: Message, after: Seq },
    /// End a connection that is silent or superseded.
    Disconnect { worker: WorkerId, connection: ConnectionId },
    /// For the log and the screen.
    Note { text: String },
    /// For the log alone: it happens as a matter of course.
    Event { text: String },
}
