//! No worker idles while samples remain: what a busy one has not begun goes to one that has nothing to do.
//!
//! A whole task that has not begun moves under every partitioner; where tasks may be cut, samples of one that has begun do.
//! The holder is asked to return samples from the end of a task, and keeps them until it says that it has not begun
//! them and will not; only then, or when its lease is over, are they granted again. How many are asked for follows from
//! the speeds of the two: they are to be done at the same time.

use super::effect::{Effect, Message};
use super::state::Core;
use super::task::Task;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use compass_types::ids::{ModelId, TaskId};
use compass_types::intervals::IntervalSet;

/// Work of less time than this, in milliseconds, is not worth a round trip.
const WORTH_MS: f64 = 100.0;
/// Least ratio of the cost of what is moved to the shared beginning that is computed once more for it.
const SHARED_WORTH: f64 = 50.0;
/// Or only so many times, if it saves so many milliseconds as far as a worker's own speed tells that was learnt from so many:
/// the first samples of an engine take many times as long as the next.
const SHARED_WORTH_OF_LONG: f64 = 10.0;
const SHARED_WORTH_MS: f64 = 20_000.0;
/// Pause after a search that found nothing to move.
const PAUSE_MS: u64 = 100;
/// Idle workers that are served in one step; the others' turn comes with the next event.
const AT_ONCE: usize = 4;
/// Beyond so many workers a step looks at all of them after a pause only, not with every event, and then for so many idle ones.
const MANY: usize = 64;
const AT_ONCE_OF_MANY: usize = 512;
/// Idle workers that find nothing in one step of many; the step after goes on with those behind them.
const VAIN_OF_MANY: usize = 16;
/// Beyond so many workers the pause is longer in proportion: a step looks at all of them.
const PAUSE_FOR_EACH: u64 = 1_000;

/// A busy worker with a task that may be revoked.
struct Giver {
    /// Time that it will be busy, in milliseconds.
    load: f64,
    id: WorkerIx,
    /// Set if a whole task waits behind the tasks that its slots run.
    has_queued: bool,
}

/// Busy workers with tasks that may be revoked, the busiest first.
#[derive(Default)]
struct Givers {
    list: Vec<Giver>,
    /// Set if a speed is known for the models of all that they hold: then nothing moves that would save less than
    /// [`WORTH_MS`] or end later, and workers that are less busy than that need not be looked at.
    known: bool,
}

impl Givers {
    /// Workers that will be busy for longer than `own` and, where speeds are known, `worth`.
    fn busier(&self, own: f64, worth: f64) -> impl Iterator<Item = (usize, &Giver)> {
        let least = if self.known { own + worth } else { own };
        self.list.iter().enumerate().take_while(move |(_, giver)| giver.load > least)
    }
}

/// Samples that may move from a busy worker to an idle one.
struct StealCandidate {
    task: TaskId,
    samples: IntervalSet,
    /// Set if it moves only if none of the task has begun.
    only_unbegun: bool,
}

impl Core {
    /// Asks the busiest workers for samples on behalf of idle ones.
    pub(super) fn steal(&mut self, effects: &mut Vec<Effect>) {
        if self.tasks.granted() == 0 || self.timing.is_paused(self.now) {
            return;
        }
        // The least loaded come first; beyond a full slot each no worker is idle.
        let free = self.workers.indexes().ready().iter().take_while(|(load, ..)| *load < 1000).map(|(_, _, id)| *id);
        let many = self.workers.len() > MANY;
        let turn = if many { self.timing.turn() } else { 0 };
        let idle = free.filter(|id| self.is_idle(*id)).skip(turn).take(if many { AT_ONCE_OF_MANY } else { AT_ONCE });
        let idle = idle.collect::<Vec<_>>();
        let mut givers = if many && !idle.is_empty() { self.givers() } else { Givers::default() };
        if many {
            let pause = (PAUSE_MS * self.workers.len() as u64 / PAUSE_FOR_EACH).max(PAUSE_MS);
            self.timing.pause(self.now + pause);
            // Those who find nothing below are not asked again before all others were.
            self.timing.set_turn(if idle.len() < AT_ONCE_OF_MANY { 0 } else { turn });
        }
        let mut vain = 0;
        for thief in idle {
            if !many {
                givers = self.givers();
            }
            let found = match self.limits.split {
                true => self.part_of_busiest(thief, &mut givers).or_else(|| self.whole_task(thief, &givers)),
                false => self.whole_task(thief, &givers),
            };
            let Some(StealCandidate { task: id, samples, only_unbegun }) = found else {
                if !many {
                    self.timing.pause(self.now + PAUSE_MS);
                    continue;
                }
                vain += 1;
                if vain == VAIN_OF_MANY {
                    self.timing.set_turn(turn + vain);
                    break;
                }
                continue;
            };
            let Some((holder, grant)) = self.holder(id) else { continue };
            self.ask(holder, id, samples.len(), only_unbegun);
            // One that has nothing more to give is not looked at again for the others.
            if let Some(giver) = givers.list.iter().position(|giver| giver.id == holder) {
                let worker = self.workers.get(holder);
                givers.list[giver].has_queued = worker.is_some_and(|worker| self.has_queued(worker));
            }
            self.workers.change(thief, |worker| worker.awaits = Some(id));
            let (samples, reason) = (Some(samples), "another worker is idle");
            let message = Message::Revoke { grant, samples, reason, only_unbegun };
            self.send(holder, message, self.last_seq, effects);
        }
    }

    /// Returns whether a slot of the worker has nothing to do, and nothing is on its way to it.
    fn is_idle(&self, id: WorkerIx) -> bool {
        let Some(worker) = self.workers.get(id) else { return false };
        let promised = worker.awaits.and_then(|task| self.task(task)).is_some_and(|task| task.asked() > 0);
        worker.models.has_idle() && !promised && !self.workers.is_last_choice(id)
    }

    /// Returns the time that a worker will be busy with what it holds, in milliseconds, beside what it was asked to return.
    /// Where no speed is known yet, a millisecond a unit of cost: only comparisons count then.
    pub(super) fn load_ms(&self, id: WorkerIx) -> f64 {
        self.workers.get(id).map_or(0.0, |worker| self.load_of(id, worker))
    }

    fn load_of(&self, id: WorkerIx, worker: &Worker) -> f64 {
        let each = worker.held.iter().filter_map(|&task| self.task(task)).map(|task| {
            let left = task.remaining.len().saturating_sub(task.asked());
            self.sample_cost(task) * f64::from(left) / self.rate(id, task.model)
        });
        each.sum()
    }

    /// Returns the cost of one of the task's samples, as far as is known by now.
    pub(super) fn sample_cost(&self, task: &Task) -> f64 {
        task.sample_cost as f64 * self.speeds.correction(task.model, task.unit)
    }

    pub(super) fn rate(&self, id: WorkerIx, model: ModelId) -> f64 {
        self.speeds.rate(id, model).unwrap_or(1.0)
    }

    /// Returns the workers that could give something away, by how long they will be busy, longest first.
    fn givers(&self) -> Givers {
        let mut known = true;
        let mut list = Vec::new();
        for (id, worker) in self.workers.iter().filter(|(_, worker)| worker.connection.is_some()) {
            let mut is_giver = false;
            for task in worker.held.iter().filter_map(|&task| self.task(task)) {
                is_giver |= task.is_revocable();
                known &= self.speeds.average(task.model).is_some();
            }
            if is_giver {
                let (load, has_queued) = (self.load_of(id, worker), self.has_queued(worker));
                list.push(Giver { load, id, has_queued });
            }
        }
        list.sort_by(|one, other| other.load.total_cmp(&one.load));
        Givers { list, known }
    }

    /// Returns whether a worker holds more than its slots run, beside what it was asked to return.
    fn has_queued(&self, worker: &Worker) -> bool {
        let is_asked = |id: &&TaskId| self.task(**id).is_some_and(|task| task.asked() > 0);
        worker.models.queued() as usize > worker.held.iter().filter(is_asked).count()
    }

    /// The end of a task of the worker that will be busy longest, as far as the idle one may run it, and whether only if
    /// none of it has begun; that worker is taken off the list.
    fn part_of_busiest(&self, thief: WorkerIx, givers: &mut Givers) -> Option<StealCandidate> {
        let own = self.load_ms(thief);
        let mut best = None;
        for (at, &Giver { load, id, .. }) in givers.busier(own, WORTH_MS) {
            // The latest grant has most likely not been begun.
            let held =
                self.workers.get(id).filter(|_| id != thief).into_iter().flat_map(|worker| worker.held.iter().rev());
            let Some(task) = held.copied().find(|&task| self.yields(task, thief)) else { continue };
            let model = self.task(task).map_or_else(ModelId::default, |task| task.model);
            let worth = if self.speeds.rate(id, model).is_some() { WORTH_MS } else { 0.0 };
            if load > own + worth + self.load_for(thief, model, task).unwrap_or(f64::INFINITY) {
                best = Some((at, task));
                break;
            }
        }
        let (at, id) = best?;
        let Giver { load, .. } = givers.list.remove(at);
        let task = self.task(id)?;
        let (holder, _) = self.holder(id)?;
        let (slow, fast) = (self.rate(holder, task.model), self.rate(thief, task.model));
        // What the samples begin with must be computed once more, unless the thief has been at the unit.
        let knows = self.workers.get(thief).is_some_and(|worker| worker.units.contains(task.unit));
        let again = if knows { 0.0 } else { task.shared_cost as f64 * self.speeds.correction(task.model, task.unit) };
        // x samples' worth of cost such that (load * slow - x) / slow = own + (again + x) / fast.
        let loads = self.load_for(thief, task.model, id)?;
        let share = ((load - own - loads) - again / fast) * slow * fast / (slow + fast);
        if share <= 0.0 && loads > 0.0 {
            return None;
        }
        if again > 0.0 && self.is_unbegun(holder, id) {
            return Some(StealCandidate { task: id, samples: task.remaining.clone(), only_unbegun: true });
        }
        if again > 0.0 && !self.is_worth(holder, task, share, share / slow) {
            return None;
        }
        let most = if self.workers.get(holder).is_some_and(|worker| worker.held.len() > 1) { 0 } else { 1 };
        let count = (share / self.sample_cost(task)) as u32;
        let count = count.max(1).min(task.remaining.len().saturating_sub(most));
        let indices = task.remaining.iter().skip((task.remaining.len() - count) as usize);
        (count > 0).then(|| StealCandidate {
            task: id,
            samples: IntervalSet::from_indices(indices),
            only_unbegun: false,
        })
    }

    /// Returns the time that the worker would load a model first, in milliseconds: 0 where a slot of it holds it, or where
    /// speeds are not known yet; `None` where a load does not pay.
    fn load_for(&self, id: WorkerIx, model: ModelId, task: TaskId) -> Option<f64> {
        let holds = self.workers.get(id).is_some_and(|worker| worker.models.slots_of(model) > 0);
        if holds || self.speeds.rate(id, model).is_none() {
            return Some(0.0);
        }
        self.pays_a_load(model, task).then(|| self.load_time(model))
    }

    /// The latest task of a worker that holds more than its slots run, if none of it has begun and it would end earlier at
    /// the idle one.
    fn whole_task(&self, thief: WorkerIx, givers: &Givers) -> Option<StealCandidate> {
        let own = self.load_ms(thief);
        // Where no speed is known, whatever waits moves, however long its holder will be busy.
        let least = if givers.known { own } else { f64::NEG_INFINITY };
        givers.busier(least, 0.0).filter(|(_, giver)| giver.has_queued && giver.id != thief).find_map(|(_, giver)| {
            let worker = self.workers.get(giver.id)?;
            let ends = giver.load / f64::from(worker.slots.max(1));
            let would_do = |&id: &TaskId| {
                let Some(task) = self.task(id).filter(|task| !task.has_begun() && self.yields(id, thief)) else {
                    return false;
                };
                let Some(rate) = self.speeds.rate(thief, task.model) else { return true };
                let Some(loads) = self.load_for(thief, task.model, id) else { return false };
                let knows = self.workers.get(thief).is_some_and(|worker| worker.units.contains(task.unit));
                let again = if knows { 0 } else { task.shared_cost };
                let correction = self.speeds.correction(task.model, task.unit);
                let here = own + loads + (again as f64 + task.cost() as f64) * correction / rate;
                here < ends
            };
            let task = worker.held.iter().rev().copied().find(would_do)?;
            Some(StealCandidate { task, samples: self.task(task)?.remaining.clone(), only_unbegun: true })
        })
    }

    /// Returns whether the holder is most likely still at other tasks with all of its slots: it gets to the latest last.
    fn is_unbegun(&self, holder: WorkerIx, id: TaskId) -> bool {
        if self.task(id).is_none_or(Task::has_begun) {
            return false;
        }
        let holder = self.workers.get(holder);
        holder.is_some_and(|worker| worker.models.queued() > 0 && worker.held.last() == Some(&id))
    }

    /// Returns whether to move `cost` of a task to a worker that has to compute once more what its samples begin with, when
    /// that saves `ms` milliseconds, as far as the worker `id` tells that would otherwise spend them.
    pub(super) fn is_worth(&self, id: WorkerIx, task: &Task, cost: f64, ms: f64) -> bool {
        let again = task.shared_cost as f64 * self.speeds.correction(task.model, task.unit);
        let is_long = ms.min(self.speeds.seen_ms(id, task.model)) >= SHARED_WORTH_MS;
        cost >= again * if is_long { SHARED_WORTH_OF_LONG } else { SHARED_WORTH }
    }

    fn yields(&self, id: TaskId, thief: WorkerIx) -> bool {
        let (Some(task), Some(worker)) = (self.task(id), self.workers.get(thief)) else { return false };
        task.is_revocable() && self.suits(thief, worker, task)
    }
}
