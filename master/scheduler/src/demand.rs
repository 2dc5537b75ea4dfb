//! Work to do and workers to do it: the basis for launchers.

use super::state::Core;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use compass_types::ids::{ModelId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// The pools of which any will do; `None` is anywhere.
pub type PoolChoice = Option<BTreeSet<String>>;

/// A connected worker, as launchers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attendance {
    pub slots: u32,
    /// Set if it holds a task.
    pub busy: bool,
    /// Set if a sample was recorded from it since it attached.
    pub recorded: bool,
    /// Set if it can load none of the models that tasks are pending of.
    pub useless: bool,
    /// Set if it has tried all that is pending without having room for it.
    pub cramped: bool,
}

impl Core {
    /// Open tasks by the pools where they can be done.
    pub(super) fn demand(&self) -> BTreeMap<PoolChoice, u32> {
        let mut by_pools: BTreeMap<PoolChoice, u32> = BTreeMap::new();
        for (model, open) in self.open_by_model() {
            let tasks = by_pools.entry(self.limits.places.get(&model).cloned()).or_default();
            *tasks = tasks.saturating_add(open);
        }
        by_pools
    }

    /// Open tasks by the position of their model.
    fn open_by_model(&self) -> BTreeMap<ModelId, u32> {
        let mut demand: BTreeMap<ModelId, u32> = self.queue.models().collect();
        let held = self.workers.values().flat_map(|worker| &worker.held);
        for task in held.copied().chain(self.recovering.iter()).filter_map(|id| self.task(id)) {
            *demand.entry(task.model).or_default() += u32::from(task.is_open());
        }
        demand.retain(|_, open| *open > 0);
        demand
    }

    /// Workers whose stream is up.
    pub(super) fn attendance(&self) -> BTreeMap<WorkerId, Attendance> {
        let up = self.workers.iter().filter(|(_, worker)| worker.connection.is_some());
        let pending: Vec<ModelId> =
            if self.bars.is_empty() { Vec::new() } else { self.queue.models().map(|(model, _)| model).collect() };
        let cramping = self.cramping();
        let seen = |id: WorkerIx, worker: &Worker| {
            let busy = !worker.held.is_empty();
            let useless = !busy && !pending.is_empty() && pending.iter().all(|model| worker.barred.contains(model));
            let may_try = |id: WorkerIx| cramping.iter().any(|task| self.may_try(id, task));
            let cramped = !busy && !cramping.is_empty() && !may_try(id);
            Attendance { slots: worker.slots, busy, recorded: worker.recorded_any, useless, cramped }
        };
        up.map(|(id, worker)| (self.workers.name(id).clone(), seen(id, worker))).collect()
    }
}
