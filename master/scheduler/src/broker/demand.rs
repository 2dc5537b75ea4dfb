//! Demands of jobs, and specifications of workers.

use crate::PoolChoice;
use compass_types::ids::{Digest, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The name of a job: the beginning of its plan's digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub String);

impl JobId {
    /// The job of the plan of this digest.
    pub fn of(plan: &Digest) -> Self {
        Self(plan.short())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Capability that some work takes and that a worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Every worker has it.
    Any,
    /// libtorch.
    Engine,
    /// A sandbox for programs that a model wrote.
    Sandbox,
}

/// Requirement of some work on a worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    pub capability: Capability,
    /// The pools where it can be done.
    pub pools: PoolChoice,
}

impl From<Capability> for Requirement {
    fn from(capability: Capability) -> Self {
        Self { capability, pools: None }
    }
}

/// Terms under which a job was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTerms {
    /// Its share grows with it; 1 or more.
    pub weight: u32,
    /// Most slots at once.
    pub bound: Option<u32>,
    /// Its models, by their digests.
    pub models: BTreeSet<Digest>,
    /// Set if every worker comes to it, whatever that one can do and however many there are: the job of a master that ends
    /// with it.
    pub everyone: bool,
}

/// Demand of a job: all that it could use now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Tasks that no worker has, by what they require.
    pub waiting: BTreeMap<Requirement, u32>,
    /// Slots that could be busy with what is neither recorded nor given up, by what it takes.
    pub usable: BTreeMap<Requirement, u32>,
    /// Number of tasks that each of its workers holds.
    pub held: BTreeMap<WorkerId, u32>,
    /// Its workers that can load none of the models that tasks wait for, or have no room for any of these.
    pub useless: BTreeSet<WorkerId>,
    /// Slots of all of them, also of those whose connection is down and whose lease goes on.
    pub taken: u32,
    /// Open tasks by the pools where they can be done.
    pub open: BTreeMap<PoolChoice, u32>,
}

/// Specification that a worker gives when it asks for work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSpec {
    /// Replicas that it can run at once.
    pub slots: u32,
    /// Its capabilities beside [`Capability::Any`].
    pub capabilities: BTreeSet<Capability>,
    /// The pool that it works for; empty for none.
    pub pool: String,
    /// The models that its engines hold.
    pub models: BTreeSet<Digest>,
    /// The job of which it holds grants or results.
    pub holds_of: Option<JobId>,
}

impl WorkerSpec {
    /// Returns whether it can do work with this requirement.
    pub fn can(&self, Requirement { capability, pools }: &Requirement) -> bool {
        let is_able = *capability == Capability::Any || self.capabilities.contains(capability);
        is_able && pools.as_ref().is_none_or(|pools| pools.contains(&self.pool))
    }

    /// The part of `slots` that it could fill.
    pub(super) fn part_of(&self, slots: &BTreeMap<Requirement, u32>) -> u32 {
        slots.iter().filter(|(need, _)| self.can(need)).fold(0, |sum, (_, slots)| sum.saturating_add(*slots))
    }
}
