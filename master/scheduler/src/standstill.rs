//! Nothing waits for what does not happen: a grant that its worker does not begin comes back after a bounded time, and a
//! pending task that a worker could run is granted after one, whatever the reason.
//!
//! A worker that sends no results is asked for what it has not begun; one that begins gives back on its own what it cannot
//! begin; one that does not even answer loses its connection, and then what it holds. Where nothing is out and tasks wait
//! although a worker could run one, no worker's failures count for a while.
//!
//! Invariants: no worker holds a grant that it has not begun for longer than [`Core::unbegun_limit`]; tasks wait beside a
//! worker that could run them, with nothing out, for a lease. What breaks one is kept for the invariant monitor, and so is a
//! grant that a worker should have begun and gave back.

use super::effect::{Effect, Message};
use super::event::FailureClass;
use super::invariants::{I1, P1, Violation};
use super::state::Core;
use super::task::Task;
use super::worker_ids::WorkerIx;
use compass_types::ids::{GrantId, TaskId};
use compass_types::intervals::IntervalSet;

/// Pending tasks of each model that are looked at for one that a worker could run.
const LOOKED_AT: usize = 64;

impl Core {
    /// Takes out what the invariant monitor is to be told.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.standstill.violations)
    }

    /// Notes that the holder of a task is asked for so many samples of it; with `whole` for all, if none has begun.
    pub(super) fn ask(&mut self, holder: WorkerIx, id: TaskId, samples: u32, whole: bool) {
        let now = self.now;
        self.tasks.ask(id, samples, whole);
        self.workers.change(holder, |worker| *worker.asked_at.get_or_insert(now));
    }

    /// Notes that a worker says more than that it lives.
    pub(super) fn has_answered(&mut self, id: WorkerIx) {
        if self.workers.get(id).is_some_and(|worker| worker.asked_at.is_some() || worker.unanswered > 0) {
            self.workers.change(id, |worker| (worker.asked_at, worker.unanswered) = (None, 0));
        }
    }

    /// Asks a worker that sends no results for as many tasks as it has slots, unless it has begun them: if it has begun one,
    /// the others wait behind it.
    pub(super) fn ask_for_unbegun(&mut self, id: WorkerIx, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get(id).filter(|worker| worker.connection.is_some()) else { return };
        let held = || worker.held.iter().filter_map(|&task| Some((task, self.task(task)?)));
        if held().any(|(_, task)| task.is_under_way()) {
            return;
        }
        let revocable = held().filter(|(_, task)| task.is_revocable());
        let asked: Vec<_> =
            revocable.take(worker.slots as usize).map(|(id, task)| (id, task.remaining.clone())).collect();
        for (task, samples) in asked {
            let Some((holder, grant)) = self.holder(task) else { continue };
            self.ask(holder, task, samples.len(), true);
            self.tasks.with_failures(task, |failures| failures.unbegun_on.insert(holder));
            let (samples, reason) = (Some(samples), "it was not begun in time");
            let message = Message::Revoke { grant, samples, reason, only_unbegun: true };
            self.send(holder, message, self.last_seq, effects);
        }
    }

    /// Cuts off workers that are heard and do not answer. One that does so again is given up: what it holds goes to others.
    pub(super) fn part_with_unresponsive_workers(&mut self, effects: &mut Vec<Effect>) {
        let (now, lease_ttl, stall) = (self.now, self.limits.lease_ttl, self.limits.stall);
        let is_unresponsive = |asked_at: u64, unanswered: u32| {
            now.saturating_sub(asked_at) >= if unanswered == 0 { lease_ttl } else { stall.max(lease_ttl) }
        };
        let connected =
            self.workers.iter().filter(|(_, worker)| worker.connection.is_some() && !worker.held.is_empty());
        let unresponsive =
            connected.filter(|(_, worker)| worker.asked_at.is_some_and(|at| is_unresponsive(at, worker.unanswered)));
        for (id, unanswered) in unresponsive.map(|(id, worker)| (id, worker.unanswered)).collect::<Vec<_>>() {
            let name = self.workers.name(id).clone();
            if unanswered > 0 {
                self.lose(id, FailureClass::Lost, "it sends heartbeats and nothing else", effects);
                continue;
            }
            let text = format!("worker {name} does not say whether it has begun its tasks; its connection is closed");
            effects.push(Effect::Note { text });
            let connection = self.workers.change(id, |worker| {
                worker.unanswered += 1;
                worker.connection.take()
            });
            if let Some(connection) = connection.flatten() {
                effects.push(Effect::Disconnect { worker: name, connection });
            }
        }
    }

    /// A worker gives samples of a grant back since no slot of it began them: a failure of its node.
    pub(super) fn comes_back_unbegun(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        samples: &IntervalSet,
        effects: &mut Vec<Effect>,
    ) {
        if !self.holds(id, &grant) {
            return;
        }
        let Some(unit) = self.task(grant.task).map(|task| task.unit) else { return };
        let Some(task) = self.carve(unit, samples, |task, _| task == grant.task) else { return };
        let message = format!("worker {} did not begin task {}; its log tells why", self.workers.name(id), grant.task);
        self.standstill.violations.push(Violation { id: I1, detail: message.clone() });
        self.workers.change(id, |worker| worker.infrastructure += 1);
        self.tasks.with_failures(task, |failures| failures.unbegun_on.insert(id));
        self.requeue(task, id, FailureClass::Infrastructure, message, effects);
    }

    /// Ends a standstill, and tells the monitor of what goes on standing.
    pub(super) fn judge_standstill(&mut self) {
        let (now, lease_ttl) = (self.now, self.limits.lease_ttl);
        match self.stands_still() {
            Some(_) if self.standstill.since.is_none() => self.standstill.since = Some(now),
            Some(_) => {}
            None => self.standstill.since = None,
        }
        let stood = self.standstill.since.map_or(0, |since| now.saturating_sub(since));
        if stood >= lease_ttl {
            self.standstill.over_until = now.saturating_add(self.limits.stall);
        }
        let broken = match stood >= lease_ttl.saturating_mul(2) {
            true => self.stands_still().map(|task| format!("task {task} waits, and a worker that could run it idles")),
            false => self.never_begun(),
        };
        let is_new = broken.is_some() && !self.standstill.is_told;
        self.standstill.is_told = broken.is_some();
        self.standstill.violations.extend(broken.filter(|_| is_new).map(|detail| Violation { id: P1, detail }));
    }

    /// A pending task that a connected worker could run, while nothing is out.
    fn stands_still(&self) -> Option<TaskId> {
        if self.queue.is_empty() || self.tasks.granted() > 0 || self.recovering.len() > 0 {
            return None;
        }
        let ready = self.workers.indexes().ready().iter().filter_map(|&(_, _, id)| Some((id, self.workers.get(id)?)));
        for (id, worker) in ready {
            let could = |task: &Task| self.can_run(worker, task) && self.may_try(id, task);
            let of_models = self.queue.models().map(|(model, _)| self.queue.of_model(model).take(LOOKED_AT));
            let found = of_models.flatten().find(|&task| self.task(task).is_some_and(could));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Time for which a worker may hold tasks of which it has neither begun nor returned any, in milliseconds: until it is named
    /// and asked, loses its connection, and is asked again.
    fn unbegun_limit(&self) -> u64 {
        self.limits.stall.saturating_mul(2).saturating_add(self.limits.lease_ttl.saturating_mul(3))
    }

    /// In words, that a connected worker has held tasks for too long of which it has neither begun nor returned any.
    fn never_begun(&self) -> Option<String> {
        let limit = self.unbegun_limit();
        let is_under_way = |id: &TaskId| self.task(*id).is_some_and(Task::is_under_way);
        let is_overdue = |id: WorkerIx| {
            self.workers.get(id).is_some_and(|worker| {
                let waited = self.now.saturating_sub(worker.last_progress);
                worker.connection.is_some() && waited >= limit && !worker.held.iter().any(is_under_way)
            })
        };
        let holding = self.workers.iter().filter(|(_, worker)| !worker.held.is_empty()).map(|(id, _)| id);
        let id = holding.into_iter().find(|id| is_overdue(*id))?;
        Some(format!("worker {} neither begins nor returns what it holds", self.workers.name(id)))
    }
}
