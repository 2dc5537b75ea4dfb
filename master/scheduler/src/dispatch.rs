//! Assignment of tasks to workers: pending tasks in order, to the least loaded worker with credit, resident models first,
//! then the neighbours of what the worker has just computed.

use super::balance::TimeLeft;
use super::effect::{Effect, Message};
use super::state::Core;
use super::task::Task;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use super::worker_indexes::Ready;
use compass_types::ids::{ModelId, TaskId, UnitId};
use std::cell::Cell;
use std::ops::Bound;

/// Failed offers to busy workers after which no more are made for [`PAUSE_MS`], and tasks that are looked at for each offer.
/// Only the end of a job has tasks that are too much for a worker.
const VAIN_OFFERS: usize = 64;
const PAUSE_MS: u64 = 100;
const LOOKED_AT: usize = 64;
/// Factor by which the remaining time of a model must exceed its loads for one slot more to load it.
const PAYS: f64 = 1.25;

impl Core {
    /// Grants while a connected worker has credit and a pending task suits it: one grant to the least loaded at a time,
    /// so that no worker is filled to its credit while another idles.
    pub(super) fn dispatch(&mut self, effects: &mut Vec<Effect>) {
        // Workers before this one got nothing: a grant moves its worker back, and no other.
        let mut passed: Option<Ready> = None;
        let mut vain = 0;
        while !self.queue.is_empty() {
            let ready = self.workers.indexes().ready();
            let next = match passed {
                Some(passed) => ready.range((Bound::Excluded(passed), Bound::Unbounded)).next(),
                None => ready.first(),
            };
            let Some(&next) = next else { return };
            let worker = next.2;
            let Some(busy) = self.workers.get(worker).map(|worker| !worker.held.is_empty()) else { return };
            if busy && vain >= VAIN_OFFERS {
                self.timing.pause_offers(self.now + PAUSE_MS);
            }
            if busy && self.timing.offers_pause(self.now) {
                return;
            }
            match self.choose(worker) {
                Some((task, loads)) => {
                    let task = self.in_time(worker, task);
                    self.grant(worker, task, loads, effects);
                }
                None => {
                    vain += usize::from(busy);
                    passed = Some(next);
                }
            }
        }
    }

    /// Chooses the next task of a worker, and whether a slot of it is to load the model: what an idle slot holds comes
    /// first, then for an idle slot what is worth a load, then more of what the others are at.
    fn choose(&self, id: WorkerIx) -> Option<(TaskId, bool)> {
        let worker = self.workers.get(id)?;
        let end = self.time_left_of(id, worker);
        if end.is_some_and(TimeLeft::is_over) {
            return None;
        }
        // Most tasks in a row are of one unit: what a sample of it takes is worked out once.
        let latest = Cell::new(None);
        let sample_ms = |task: &Task| {
            let kind = (task.unit, task.model, task.sample_cost);
            latest.get().filter(|(known, _)| *known == kind).map_or_else(
                || {
                    let ms = self.sample_ms(id, task);
                    latest.set(Some((kind, ms)));
                    ms
                },
                |(_, ms)| ms,
            )
        };
        let in_time = |task: &Task| end.is_none_or(|end| end.suffices(task, sample_ms(task)));
        let now = |task: &Task| self.suits(id, worker, task) && in_time(task);
        let suits = |task: &TaskId| self.task(*task).is_some_and(now);
        // What only a worker can run whose node fails is seldom, and each task is looked at for all others.
        let looks_far = worker.held.is_empty() && !self.workers.is_last_choice(id);
        let most = if looks_far { usize::MAX } else { LOOKED_AT };
        let models = worker.models.models_by_grants();
        let of_models = |idle: bool| {
            let models = models.iter().filter(move |model| (worker.models.idle_of(**model) > 0) == idle);
            models.into_iter().find_map(|model| self.choose_of(worker, *model, most, &suits))
        };
        if let Some(task) = of_models(true) {
            return Some((task, false));
        }
        let other = || self.choose_model(worker, most, &suits).map(|first| self.untouched(first, &suits));
        if worker.models.has_idle() {
            return other().map(|task| (task, true)).or_else(|| Some((of_models(false)?, false)));
        }
        Some((of_models(false).or_else(other)?, false))
    }

    /// A task of a model that the worker holds.
    fn choose_of(
        &self,
        worker: &Worker,
        model: ModelId,
        most: usize,
        suits: &impl Fn(&TaskId) -> bool,
    ) -> Option<TaskId> {
        if !self.may_run_any(worker, model) {
            return None;
        }
        let first = self.queue.of_model(model).take(most).find(suits)?;
        let is_of_model = |id: &TaskId| self.task(*id).is_some_and(|task| task.model == model);
        let near = |unit: UnitId| self.queue.of_unit(unit).take(most).find(|id| is_of_model(id) && suits(id));
        let neighbour = worker.units.iter().rev().find_map(near);
        // What begins as something that the worker has computed comes first; other neighbours not at the price of small
        // tasks before large ones.
        let cost = |task: TaskId| self.task(task).map_or(0, Task::cost);
        let near = |&near: &TaskId| self.shares(near) || cost(near).saturating_mul(2) >= cost(first);
        let Some(neighbour) = neighbour.filter(near) else { return Some(self.untouched(first, suits)) };
        // Its other slots compute what this begins with: a further slot had to compute that once more.
        let is_for_another_slot = self.shares(neighbour) && self.would_begin_twice(worker, neighbour);
        let elsewhere = || Some(self.untouched(first, suits)).filter(|other| !self.is_begun(*other));
        is_for_another_slot.then(elsewhere).flatten().or(Some(neighbour))
    }

    /// Returns whether a slot of the worker has nothing to do, while another is at a task of the unit.
    fn would_begin_twice(&self, worker: &Worker, id: TaskId) -> bool {
        let unit = self.task(id).map(|task| task.unit);
        let is_at_it = |held: &TaskId| self.task(*held).map(|task| task.unit) == unit;
        (worker.held.len() as u32) < worker.slots && worker.held.iter().any(is_at_it)
    }

    /// Returns whether some worker computes, or has computed, what the samples of a task begin with.
    fn is_begun(&self, id: TaskId) -> bool {
        self.task(id).is_some_and(|task| task.shared_cost > 0 && self.workers.indexes().is_visited(task.unit))
    }

    /// Returns whether samples of a task begin like others of its unit.
    fn shares(&self, id: TaskId) -> bool {
        self.task(id).is_some_and(|task| task.shared_cost > 0)
    }

    /// The first task, or while others wait one that begins as nothing does that another worker has computed.
    fn untouched(&self, first: TaskId, suits: &impl Fn(&TaskId) -> bool) -> TaskId {
        let Some(task) = self.task(first).filter(|_| self.is_begun(first)) else { return first };
        let others = self.queue.of_model(task.model).take(LOOKED_AT);
        let free = |id: &TaskId| !self.is_begun(*id) && suits(id);
        others.into_iter().find(free).unwrap_or(first)
    }

    /// The first task of a model that the worker does not hold and that is worth a load: of those that no slot holds the one
    /// with the most to do, else the one with the most tasks pending for each slot.
    fn choose_model(&self, worker: &Worker, most: usize, suits: &impl Fn(&TaskId) -> bool) -> Option<TaskId> {
        let mut best: Option<((bool, u64), TaskId)> = None;
        for (model, waiting) in self.queue.models().filter(|(model, _)| self.may_run_any(worker, *model)) {
            let slots = self.workers.indexes().residents(model);
            let others = slots.saturating_sub(worker.models.slots_of(model));
            let rank = match slots {
                0 => (true, self.tasks.open_cost(model)),
                _ => (false, u64::from(waiting).saturating_mul(1000) / u64::from(1 + others)),
            };
            if best.is_none_or(|(before, _)| rank > before)
                && let Some(task) = self.queue.of_model(model).take(most).find(suits)
                && (slots == 0 || self.pays_a_load(model, task))
            {
                best = Some((rank, task));
            }
        }
        best.map(|(_, task)| task)
    }

    /// Returns whether one slot more is worth the time that it takes to load a model: with k slots at it, one more pays
    /// where what is left takes longer than k loads. Nothing waits on slots that do not get on with it.
    pub(super) fn pays_a_load(&self, model: ModelId, id: TaskId) -> bool {
        let slots = self.workers.indexes().residents(model);
        let load = self.load_time(model);
        let has_failed = self.task(id).is_some_and(|task| !task.failures.workers.is_empty() || task.lacks_room());
        let still = self.bars.still_ms(model, self.now);
        let Some(rate) = self.speeds.average(model).filter(|_| !self.standstill.is_over(self.now)) else { return true };
        let left = self.tasks.open_cost(model) as f64 / rate;
        has_failed || still as f64 > (2.0 * load).max(self.limits.stall as f64) || left > PAYS * f64::from(slots) * load
    }

    /// Returns the time that a model takes to load, in milliseconds, as far as is known.
    pub(super) fn load_time(&self, model: ModelId) -> f64 {
        let prior = || self.limits.load_ms.get(&model).copied().unwrap_or(0) as f64;
        self.speeds.load_ms(model).unwrap_or_else(prior)
    }

    /// Returns whether the worker may run the task.
    pub(super) fn suits(&self, id: WorkerIx, worker: &Worker, task: &Task) -> bool {
        self.can_run(worker, task) && !self.is_for_another(id, task) && self.may_try(id, task)
    }

    /// Returns whether the worker has what some pending task of the model requires, and can load it as far as is known:
    /// without a look at each of them.
    fn may_run_any(&self, worker: &Worker, model: ModelId) -> bool {
        self.may_load(worker, model)
            && self.has_share(worker, model)
            && self.queue.has_any(model, |requires| worker.suits(requires))
    }

    /// Returns whether the worker is where the model loads, and can load it as far as is known.
    fn may_load(&self, worker: &Worker, model: ModelId) -> bool {
        !worker.barred.contains(&model)
            && !self.stopped.contains_key(&model)
            && self.limits.places.get(&model).is_none_or(|pools| pools.contains(&worker.pool))
    }

    /// Returns whether the worker has what the task requires, is where its model loads, and can load it as far as is known.
    pub(super) fn can_run(&self, worker: &Worker, task: &Task) -> bool {
        self.could_run(worker, task) && self.has_share(worker, task.model)
    }

    /// As [`Self::can_run`], were no other worker at the model.
    pub(super) fn could_run(&self, worker: &Worker, task: &Task) -> bool {
        worker.suits(task.requires) && self.may_load(worker, task.model)
    }

    /// The attempt is durable before the grant is sent.
    fn grant(&mut self, worker: WorkerIx, id: TaskId, loads: bool, effects: &mut Vec<Effect>) {
        self.counters.retries += u64::from(self.task(id).is_some_and(|task| task.failures.again));
        if let Some((grant, unit, samples)) = self.assign(worker, id, loads, effects) {
            let model = self.task(id).map_or_else(ModelId::default, |task| task.model);
            let slots = self.workers.get(worker).map_or(0, |worker| worker.models.slots_of(model));
            self.send(worker, Message::Grant { grant, unit, samples, slots }, self.last_seq, effects);
        }
    }
}
