//! The key layout, shared by all backends.

use compass_common::ids::{Digest, UnitId};
use compass_common::intervals::IntervalSet;

/// Keys of one job.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
}

/// A task by content: its number may differ from run to run, its samples do not.
pub type AttemptKey = String;

impl Keys {
    /// The keys of the job whose plan has this digest.
    pub fn new(plan: &Digest) -> Self {
        Self { prefix: format!("jobs/{plan}") }
    }

    /// What others need to know of the run: see [`super::RunRecord`].
    pub fn run(&self) -> String {
        format!("{}/run", self.prefix)
    }

    /// Prefix of the recorded lengths of ledger segments.
    pub fn segments(&self) -> String {
        format!("{}/segments/", self.prefix)
    }

    /// How many bytes of a segment exist.
    pub fn segment(&self, name: &str) -> String {
        format!("{}{name}", self.segments())
    }

    /// Prefix of the attempts.
    pub fn attempts(&self) -> String {
        format!("{}/attempts/", self.prefix)
    }

    /// The last epoch whose leader sent its workers away at its end: nobody holds anything of it.
    pub fn released(&self) -> String {
        format!("{}/released", self.prefix)
    }

    /// The highest attempt of a task.
    pub fn attempt(&self, key: &AttemptKey) -> String {
        format!("{}{key}", self.attempts())
    }

    /// Names a task by its unit and first sample: stable for a partition, unique among tasks that are out at once.
    pub fn attempt_key(unit: UnitId, samples: &IntervalSet) -> AttemptKey {
        let first = samples.pairs().first().map_or(0, |pair| pair.0);
        format!("{:06}/{first:010}", unit.0)
    }
}
