//! Workers come and go, and keep what they hold as far as it is still to be had.

use super::apply::SHUTDOWN;
use super::effect::{Effect, Holder, KeptGrant, Message, Record};
use super::event::{Capabilities, ConnectionId, FailureClass, HeldGrant};
use super::state::Core;
use super::task::{Requires, Task, TaskState};
use super::task_table::To;
use super::words::{are, some};
use super::worker::{Drain, Worker};
use super::worker_ids::WorkerIx;
use compass_types::ids::{GrantId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeSet;

impl Core {
    pub(super) fn attach(
        &mut self,
        id: WorkerIx,
        connection: ConnectionId,
        capabilities: Capabilities,
        held: &[HeldGrant],
        effects: &mut Vec<Effect>,
    ) {
        if self.workers.get(id).is_some_and(|known| known.session != capabilities.session) {
            self.lose(id, FailureClass::Lost, "another process took its name", effects);
        }
        if let Some(reason) = self.is_barred(self.workers.name(id)) {
            self.send(id, Message::Refused { reason }, self.last_seq, effects);
            return;
        }
        let is_known = self.workers.get(id).is_some();
        let slots = capabilities.slots.min(self.workers.room(id, self.limits.max_slots));
        if slots == 0 {
            let most = self.limits.max_slots.unwrap_or_default();
            let reason =
                format!("all of this job's {} {} taken (max_num_workers = {most})", some(most, "slot"), are(most));
            self.send(id, Message::Refused { reason }, self.last_seq, effects);
            return;
        }
        let now = self.now;
        if !is_known {
            let idle_since_tick = self.deadlines.ticks();
            self.workers.attach(id, Worker { idle_since_tick, ..Worker::new(&capabilities, slots, now) });
            self.restore_bars(id);
        }
        let old = self.workers.change(id, |worker| {
            worker.last_heard = now;
            // A released worker that reconnects without grants is treated as new.
            if held.is_empty() {
                worker.drain = Drain::No;
            }
            worker.asked_at = worker.asked_at.map(|_| now);
            worker.connection.replace(connection)
        });
        if let Some(old) = old.flatten().filter(|old| *old != connection) {
            effects.push(Effect::Disconnect { worker: self.workers.name(id).clone(), connection: old });
        }
        let kept = self.keep(id, held, effects);
        self.send(id, Message::Welcome { connection, max_slots: slots, kept }, self.last_seq, effects);
        if !capabilities.has_engine && self.tasks.open_by(Requires::Engine) > 0 {
            let build = "it was built without libtorch; build compass-worker with its default features";
            effects.push(Effect::Note {
                text: format!("worker {} cannot run every model of this job: {build}", self.workers.name(id)),
            });
        }
        self.refuse_programs(id, effects);
        if self.finished && !self.limits.workers_stay {
            self.send(id, SHUTDOWN, self.last_seq, effects);
        }
    }

    /// Returns the grants that the worker keeps: live grants, and of others what no other worker has by now, under a new
    /// attempt that is durable before the worker hears of it. A hello lists all that is held, so what it does not list
    /// never arrived or was handed back in a frame that is lost: it goes back into the queue.
    fn keep(&mut self, id: WorkerIx, held: &[HeldGrant], effects: &mut Vec<Effect>) -> Vec<KeptGrant> {
        let mut kept = Vec::new();
        let name = self.workers.name(id).clone();
        let mut listed = BTreeSet::new();
        let (live, lapsed): (Vec<_>, Vec<_>) = held.iter().partition(|held| self.holds(id, &held.grant));
        for held in live {
            let Some(task) = self.task(held.grant.task) else { continue };
            let now = HeldGrant { grant: held.grant, unit: task.unit, samples: task.remaining.clone() };
            listed.insert(held.grant.task);
            kept.push(KeptGrant { held: held.grant, now });
        }
        let barred = self.workers.get(id).map(|worker| worker.barred.clone()).unwrap_or_default();
        for held in lapsed {
            let free = |task: TaskId, of: &Task| {
                of.is_free_for(id, &name) && !listed.contains(&task) && !barred.contains(&of.model)
            };
            if let Some(task) = self.carve(held.unit, &held.samples, free)
                && let Some((grant, _, _)) = self.assign(id, task, true, effects)
            {
                listed.insert(task);
                self.counters.adopted += 1;
                let samples = self.task(task).map(|task| task.remaining.clone()).unwrap_or_default();
                kept.push(KeptGrant { held: held.grant, now: HeldGrant { grant, unit: held.unit, samples } });
            }
        }
        let unlisted = self.workers.get(id).map(|worker| &worker.held - &listed).unwrap_or_default();
        let awaited = self.kept_for(&name);
        for task in unlisted.into_iter().chain(awaited) {
            self.transition(task, To::Pending);
        }
        kept
    }

    /// Gives a task to a worker under a new attempt, and records it; the grant, its unit and samples. With `loads` an idle
    /// slot of the worker may load its model.
    pub(super) fn assign(
        &mut self,
        worker: WorkerIx,
        id: TaskId,
        loads: bool,
        effects: &mut Vec<Effect>,
    ) -> Option<(GrantId, UnitId, IntervalSet)> {
        let (epoch, now) = (self.epoch, self.now);
        let (attempt, unit, model, samples) = self.tasks.next_attempt(id)?;
        self.transition(id, To::Granted { worker });
        self.workers.change(worker, |worker| {
            worker.resident = Some(model);
            worker.models.granted(model, loads);
            worker.units.visit(unit, worker.slots);
            if worker.held.len() == 1 {
                worker.last_progress = now;
            }
        });
        let holder = Holder { worker: self.workers.name(worker).clone(), unit, attempt, samples: samples.clone() };
        self.persist(Record::Attempt { task: id, holder }, effects);
        self.checkpoint.count_attempt();
        Some((GrantId { epoch, task: id, attempt }, unit, samples))
    }

    /// Returns the holder of a task, and the grant under which it holds it.
    pub(super) fn holder(&self, id: TaskId) -> Option<(WorkerIx, GrantId)> {
        let task = self.task(id)?;
        match task.state {
            TaskState::Granted { worker, .. } => {
                Some((worker, GrantId { epoch: self.epoch, task: id, attempt: task.attempt }))
            }
            _ => None,
        }
    }

    /// A worker may come back until its lease runs out, unless it said that it would go, or was to go and holds nothing. One
    /// that was to go and holds something may never have heard so, and be at it.
    pub(super) fn detach(&mut self, id: WorkerIx, connection: ConnectionId, effects: &mut Vec<Effect>) {
        if self.workers.get(id).is_none_or(|worker| worker.connection != Some(connection)) {
            return;
        }
        let gone = self.workers.change(id, |worker| {
            worker.connection = None;
            match worker.drain {
                Drain::No => false,
                Drain::Requested => worker.held.is_empty(),
                Drain::Announced => true,
            }
        });
        if gone == Some(true) {
            self.lose(id, FailureClass::Preempted, "it left", effects);
        }
    }

    /// Forgets a worker: what it held can be granted again.
    pub(super) fn lose(&mut self, id: WorkerIx, class: FailureClass, why: &str, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.remove(id) else { return };
        let name = self.workers.name(id).clone();
        if let Some(connection) = worker.connection {
            effects.push(Effect::Disconnect { worker: name.clone(), connection });
        }
        if !worker.held.is_empty() {
            let tasks = match worker.held.len() {
                1 => "1 task goes to others".to_owned(),
                tasks => format!("{tasks} tasks go to others"),
            };
            effects.push(match class {
                FailureClass::Preempted => Effect::Event { text: format!("worker {name} left ({why}); {tasks}") },
                _ => Effect::Note { text: format!("worker {name} is lost ({why}); {tasks}") },
            });
        }
        // A worker that got something done died of something else than these tasks. What it recorded is finite, so that
        // a task that does kill its workers is still found in the end.
        let is_blameless = worker.recorded_any || self.misfits.is_barred(&name);
        let budget = if is_blameless { FailureClass::Preempted } else { class };
        for task in worker.held {
            self.requeue(task, id, budget, format!("worker {name} was lost: {why}"), effects);
            // Counted as what it is, whatever it costs the task.
            self.tasks.with_failures(task, |failures| failures.again = class != FailureClass::Preempted);
        }
    }
}
