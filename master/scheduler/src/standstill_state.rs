//! The time for which nothing is granted although a worker could run what waits, and what the invariant monitor is told of it.

use super::invariants::Violation;

/// Since when nothing is granted although a worker could run what waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Standstill {
    pub(super) since: Option<u64>,
    /// Until when no failures of workers count.
    pub(super) over_until: u64,
    /// Workers, or the standstill itself, of which the monitor was told.
    pub(super) is_told: bool,
    pub(super) violations: Vec<Violation>,
}

impl Standstill {
    /// Returns true while tasks go to any worker that could run them, since they waited for others that did not take them.
    pub(super) fn is_over(&self, now: u64) -> bool {
        now < self.over_until
    }
}
