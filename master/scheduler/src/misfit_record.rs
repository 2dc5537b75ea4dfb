//! The consequences of results that do not fit the plan. Workers go by name here: what is known of them outlives them.
//!
//! Invariant: a sample is in doubt only while it has no result.

use super::words::some;
use compass_plan::Misfit;
use compass_types::ids::{UnitId, WorkerId};
use std::collections::BTreeMap;

/// A sample of which only misfits came.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubt {
    pub(super) tries: u32,
    /// The latest misfit of each worker.
    pub(super) by: BTreeMap<WorkerId, Misfit>,
}

impl Doubt {
    /// Returns the reason why the sample fails.
    pub(super) fn reason(&self) -> String {
        let workers: Vec<&str> = self.by.keys().map(|worker| worker.0.as_str()).collect();
        if self.by.values().all(|misfit| *misfit == Misfit::NotFinite) {
            let tries = match workers.as_slice() {
                [only] => format!("{} on worker {only}", some(self.tries, "time")),
                several => format!("on workers {}", several.join(", ")),
            };
            return format!("the model gives {}, {tries}", Misfit::NotFinite);
        }
        let each = self.by.iter().map(|(worker, misfit)| format!("worker {worker}: {misfit}"));
        format!("no result fits the plan: {}", each.collect::<Vec<_>>().join("; "))
    }
}

/// Consequences of misfits.
#[derive(Clone, Debug, Default)]
pub(super) struct Misfits {
    pub(super) doubts: BTreeMap<(UnitId, u32), Doubt>,
    pub(super) strikes: BTreeMap<WorkerId, u32>,
    /// Workers that take no more part, and why.
    pub(super) barred: BTreeMap<WorkerId, String>,
}

impl Misfits {
    /// Returns whether a worker takes no more part.
    pub(super) fn is_barred(&self, worker: &WorkerId) -> bool {
        self.barred.contains_key(worker)
    }
}
