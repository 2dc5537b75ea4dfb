//! Information about the scheduler for an autoscaler.

use crate::{Attendance, PoolChoice};
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;

/// Demand of the scheduler, and the workers that are there to meet it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerSnapshot {
    /// Slots that could be busy, by the pools where they must be.
    pub demand: BTreeMap<PoolChoice, u32>,
    /// Connected workers.
    pub workers: BTreeMap<WorkerId, Attendance>,
}
