//! What an autoscaler is told of the scheduler.

use crate::{Attendance, PoolChoice};
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;

/// What the scheduler has to do, and which workers are there to do it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerSnapshot {
    /// Slots that could be busy, by the pools where they must be.
    pub demand: BTreeMap<PoolChoice, u32>,
    /// Connected workers.
    pub workers: BTreeMap<WorkerId, Attendance>,
}
