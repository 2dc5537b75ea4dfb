//! What there is to do and who is there to do it: what launchers go by.

use super::state::Core;
use compass_common::ids::WorkerId;
use std::collections::BTreeMap;

/// A connected worker, as launchers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attendance {
    pub slots: u32,
    /// Whether it holds a task.
    pub busy: bool,
}

impl Core {
    /// Open tasks by the position of their model.
    pub fn demand(&self) -> BTreeMap<u32, u32> {
        let mut demand: BTreeMap<u32, u32> = self.queue.models().collect();
        let held = self.workers.values().flat_map(|worker| &worker.held);
        for task in held.chain(&self.recovering).filter_map(|id| self.task(*id)) {
            *demand.entry(task.model).or_default() += u32::from(task.is_open());
        }
        demand.retain(|_, open| *open > 0);
        demand
    }

    /// Workers whose stream is up.
    pub fn attendance(&self) -> BTreeMap<WorkerId, Attendance> {
        let up = self.workers.iter().filter(|(_, worker)| worker.connection.is_some());
        let seen = |slots, busy| Attendance { slots, busy };
        up.map(|(id, worker)| (id.clone(), seen(worker.slots, !worker.held.is_empty()))).collect()
    }
}
