//! Who gets what: pending tasks in order, to the least loaded worker with credit, resident models first, then the
//! neighbours of what the worker has just computed.

use super::effect::{Effect, Message};
use super::state::{Core, Worker};
use super::task::{Failures, Task};
use compass_common::ids::{TaskId, UnitId, WorkerId};
use std::collections::BTreeSet;

/// Busy workers that are offered what waits, in vain, before all of them are left alone for so long, in milliseconds, and
/// tasks that each of them looks at. Only the end of a job has tasks that are too much for a worker.
const VAIN_OFFERS: usize = 64;
const PAUSE_MS: u64 = 100;
const LOOKED_AT: usize = 64;

impl Core {
    /// Grants while a connected worker has credit and a pending task suits it: one grant to the least loaded at a time,
    /// so that no worker is filled to its credit while another idles.
    pub(super) fn dispatch(&mut self, effects: &mut Vec<Effect>) {
        let (mut unsuited, mut vain) = (BTreeSet::new(), 0);
        while !self.queue.is_empty() {
            let next = self.ready.iter().map(|(_, seat)| *seat).find(|seat| !unsuited.contains(seat));
            let Some(seat) = next else { return };
            let Some((worker, busy)) = self.workers.at(seat).map(|(id, worker)| (id.clone(), !worker.held.is_empty()))
            else {
                return;
            };
            if busy && vain >= VAIN_OFFERS {
                self.offer_again = self.now + PAUSE_MS;
            }
            if busy && self.now < self.offer_again {
                return;
            }
            match self.choose(&worker) {
                Some(task) => {
                    let task = self.in_time(&worker, task);
                    self.grant(&worker, task, effects);
                }
                None => {
                    vain += usize::from(busy);
                    unsuited.insert(seat);
                }
            }
        }
    }

    fn choose(&self, id: &WorkerId) -> Option<TaskId> {
        let worker = self.workers.get(id)?;
        if self.is_last_choice(id) {
            return None;
        }
        let end = self.time_left_of(id, worker);
        let now = |task: &Task| self.suits(id, worker, task) && self.is_in_time(id, end, task);
        let suits = |task: &TaskId| self.task(*task).is_some_and(now);
        let most = if worker.held.is_empty() { usize::MAX } else { LOOKED_AT };
        let resident = worker.resident.and_then(|model| self.queue.of_model(model).take(most).find(&suits));
        let Some(first) = resident else {
            return self.choose_model(worker, most, &suits).map(|first| self.untouched(first, &suits));
        };
        let near = |&unit: &UnitId| self.queue.of_unit(unit).take(most).find(&suits);
        let neighbour = worker.units.iter().rev().find_map(near);
        // What begins as something that the worker has computed comes first; other neighbours not at the price of small
        // tasks before large ones.
        let cost = |task: TaskId| self.task(task).map_or(0, Task::cost);
        let near = |&near: &TaskId| self.shares(near) || cost(near).saturating_mul(2) >= cost(first);
        neighbour.filter(near).or_else(|| Some(self.untouched(first, &suits)))
    }

    /// Whether samples of a task begin like others of its unit.
    fn shares(&self, id: TaskId) -> bool {
        self.task(id).is_some_and(|task| task.shared_cost > 0)
    }

    /// The first task, or while others wait one that begins as nothing does that another worker has computed.
    fn untouched(&self, first: TaskId, suits: &impl Fn(&TaskId) -> bool) -> TaskId {
        let is_taken = |task: &Task| task.shared_cost > 0 && self.at_units.contains_key(&task.unit);
        let Some(task) = self.task(first).filter(|task| is_taken(task)) else { return first };
        let others = self.queue.of_model(task.model).take(LOOKED_AT);
        let free = |id: &TaskId| self.task(*id).is_some_and(|task| !is_taken(task)) && suits(id);
        others.into_iter().find(free).unwrap_or(first)
    }

    /// The first task of the model that has the most tasks waiting for each worker that is at it already.
    fn choose_model(&self, worker: &Worker, most: usize, suits: &impl Fn(&TaskId) -> bool) -> Option<TaskId> {
        let mut best: Option<(u32, TaskId)> = None;
        for (model, waiting) in self.queue.models() {
            let others = self.residents.get(&model).copied().unwrap_or(0) - u32::from(worker.resident == Some(model));
            let each = waiting.saturating_mul(1000) / (1 + others);
            if best.is_none_or(|(before, _)| each > before)
                && let Some(task) = self.queue.of_model(model).take(most).find(suits)
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
        let again = |task: &Task| {
            let Failures { transient, infrastructure, losses, .. } = &task.failures;
            transient + infrastructure + losses > 0
        };
        self.counters.retries += u64::from(self.task(id).is_some_and(again));
        if let Some((grant, unit, samples)) = self.assign(worker, id, effects) {
            self.send(worker, Message::Grant { grant, unit, samples }, self.last_seq, effects);
        }
    }
}
