//! The key layout, shared by all backends.

use compass_types::ids::{Digest, Epoch};

/// Keys of one job.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    /// The keys of the job whose plan has this digest.
    pub fn new(plan: &Digest) -> Self {
        Self { prefix: Self::place(plan) }
    }

    /// Returns the place of the keys, and of the job's lead with them.
    pub fn place(plan: &Digest) -> String {
        format!("jobs/{plan}")
    }

    /// Returns the key of what others need to know of the run: see [`super::RunRecord`].
    pub fn run(&self) -> String {
        format!("{}/run", self.prefix)
    }

    /// Key of the proofs of the job's grants: written once, by its first leader.
    pub fn job_key(&self) -> String {
        format!("{}/key", self.prefix)
    }

    /// Prefix of the recorded lengths of ledger segments.
    pub fn segments(&self) -> String {
        format!("{}/segments/", self.prefix)
    }

    /// Returns the key of the number of a segment's bytes that exist.
    pub fn segment(&self, name: &str) -> String {
        format!("{}{name}", self.segments())
    }

    /// Prefix of the log of leases, see [`super::AssignmentPage`].
    pub fn assignments(&self) -> String {
        format!("{}/leases/", self.prefix)
    }

    /// A page of it; keys are in order of epoch and number.
    pub fn assignment_page(&self, epoch: Epoch, number: u64) -> String {
        format!("{}{:016}/{number:016}", self.assignments(), epoch.0)
    }

    /// Epoch and number of a page, from its key.
    pub fn assignment_page_of(&self, key: &str) -> Option<(Epoch, u64)> {
        let (epoch, number) = key.strip_prefix(&self.assignments())?.split_once('/')?;
        Some((Epoch(epoch.parse().ok()?), number.parse().ok()?))
    }

    /// The last epoch whose leader sent its workers away at its end: no worker holds anything of it.
    pub fn released(&self) -> String {
        format!("{}/released", self.prefix)
    }
}
