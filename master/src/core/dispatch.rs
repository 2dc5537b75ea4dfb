//! Who gets what: pending tasks in order, to the least loaded worker with credit, resident models first, then the
//! neighbours of what the worker has just computed.

use super::effect::{Effect, Message};
use super::state::{Core, Worker};
use super::task::Task;
use compass_common::ids::{TaskId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

impl Core {
    /// Grants while a connected worker has credit and a pending task suits it: one grant to the least loaded at a time,
    /// so that no worker is filled to its credit while another idles.
    pub(super) fn dispatch(&mut self, effects: &mut Vec<Effect>) {
        let mut unsuited = BTreeSet::new();
        while !self.queue.is_empty() {
            let next = self.ready.iter().map(|(_, id)| id).find(|id| !unsuited.contains(*id));
            let Some(worker) = next.cloned() else { return };
            match self.choose(&worker) {
                Some(task) => {
                    let task = self.in_time(&worker, task);
                    self.grant(&worker, task, effects);
                }
                None => {
                    unsuited.insert(worker);
                }
            }
        }
    }

    fn choose(&self, id: &WorkerId) -> Option<TaskId> {
        let worker = self.workers.get(id)?;
        if self.is_last_choice(id) {
            return None;
        }
        let now = |task: &Task| self.suits(id, worker, task) && self.is_in_time(id, worker, task);
        let suits = |task: &TaskId| self.task(*task).is_some_and(now);
        let resident = worker.resident.and_then(|model| self.queue.of_model(model).find(&suits));
        let Some(first) = resident else { return self.choose_model(worker, &suits) };
        // Neighbours share prefixes, but not at the price of small tasks before large ones.
        let neighbour = worker.unit.and_then(|unit| self.queue.of_unit(unit).find(&suits));
        let cost = |task: TaskId| self.task(task).map_or(0, Task::cost);
        neighbour.filter(|&near| cost(near).saturating_mul(2) >= cost(first)).or(Some(first))
    }

    /// The first task of the model that has the most tasks waiting for each worker that is at it already.
    fn choose_model(&self, worker: &Worker, suits: &impl Fn(&TaskId) -> bool) -> Option<TaskId> {
        let mut at_it: BTreeMap<u32, u32> = BTreeMap::new();
        for model in self.workers.values().filter_map(|other| other.resident) {
            *at_it.entry(model).or_default() += 1;
        }
        let mut best: Option<(u32, TaskId)> = None;
        for (model, waiting) in self.queue.models() {
            let others = at_it.get(&model).copied().unwrap_or(0) - u32::from(worker.resident == Some(model));
            let each = waiting.saturating_mul(1000) / (1 + others);
            if best.is_none_or(|(most, _)| each > most)
                && let Some(task) = self.queue.of_model(model).find(suits)
            {
                best = Some((each, task));
            }
        }
        best.map(|(_, task)| task)
    }

    /// Whether the worker may run the task.
    pub(super) fn suits(&self, id: &WorkerId, worker: &Worker, task: &Task) -> bool {
        self.can_run(worker, task) && !self.is_for_another(id, task)
    }

    /// Whether the worker has what the task requires, and is where its model loads.
    pub(super) fn can_run(&self, worker: &Worker, task: &Task) -> bool {
        worker.suits(task.requires)
            && self.limits.places.get(&task.model).is_none_or(|pools| pools.contains(&worker.pool))
    }

    /// The attempt is durable before the grant is sent.
    fn grant(&mut self, worker: &WorkerId, id: TaskId, effects: &mut Vec<Effect>) {
        let failures = self.task(id).map(|task| task.failures.clone()).unwrap_or_default();
        self.counters.retries += u64::from(failures.transient + failures.infrastructure + failures.losses > 0);
        if let Some((grant, unit, samples)) = self.assign(worker, id, effects) {
            self.send(worker, Message::Grant { grant, unit, samples }, self.last_seq, effects);
        }
    }
}
