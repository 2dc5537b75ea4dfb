//! Workers come and go, and keep what they hold as far as it is still to be had.

use super::apply::SHUTDOWN;
use super::effect::{Effect, Holder, Kept, Message, Record};
use super::event::{Capabilities, ConnectionId, FailureClass, HeldGrant};
use super::hold::Hold;
use super::slot_models::SlotModels;
use super::state::Core;
use super::task::{Failures, Former, Requires, Task, TaskState};
use super::worker::{Going, Worker};
use super::worker_table::{Rank, WorkerIx};
use compass_common::ids::{Attempt, GrantId, TaskId, UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl Core {
    /// Keeps from everybody else, for the time of a lease, what an older leader granted: its holder may come back. The
    /// latest grant of a sample counts, so `former` goes from the latest to the oldest.
    pub fn recover(&mut self, now: u64, former: &[Former]) {
        self.recovering_until = now + self.limits.lease_ttl;
        for former in former {
            if let Some(task) = self.carve(former.unit, &former.samples, |_, task| task.state == TaskState::Pending) {
                self.set_state(task, TaskState::Recovering { worker: former.worker.clone() });
            }
        }
    }

    /// A worker that an older leader granted something will not come back.
    pub(super) fn recover_from(&mut self, id: &WorkerId) {
        let of_worker = |task: &Task| matches!(&task.state, TaskState::Recovering { worker } if worker == id);
        let tasks = self.recovering.iter().copied().filter(|&task| self.task(task).is_some_and(of_worker));
        for task in tasks.collect::<Vec<_>>() {
            self.set_state(task, TaskState::Pending);
        }
    }

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
        let before = self.workers.get(id).map_or(0, |known| known.slots);
        let elsewhere = self.slots - before;
        // What a worker claims never makes the sum of all slots overflow.
        let room = self.limits.max_slots.unwrap_or(u32::MAX).saturating_sub(elsewhere);
        let slots = capabilities.slots.min(room);
        if slots == 0 {
            let most = self.limits.max_slots.unwrap_or_default();
            let reason = format!("all {most} slots of this job are taken (max_num_workers = {most})");
            self.send(id, Message::Refused { reason }, self.last_seq, effects);
            return;
        }
        let now = self.now;
        if before == 0 {
            self.slots += slots;
            self.workers.insert(
                id,
                Worker {
                    rank: Rank::default(),
                    connection: None,
                    session: capabilities.session.clone(),
                    slots,
                    has_engine: capabilities.has_engine,
                    sandbox: capabilities.sandbox.clone(),
                    pool: capabilities.pool.clone(),
                    credit: 0,
                    held: BTreeSet::new(),
                    resident: None,
                    models: SlotModels::new(slots),
                    counted: false,
                    host: capabilities.host.clone(),
                    barred: BTreeSet::new(),
                    by_host: BTreeMap::new(),
                    units: VecDeque::new(),
                    last_heard: now,
                    going: Going::Stays,
                    last_progress: now,
                    stall: 0,
                    recorded_any: false,
                    infrastructure: 0,
                    awaits: None,
                    load: None,
                    is_present: false,
                },
            );
            self.bar_anew(id);
        }
        let Some(worker) = self.workers.get_mut(id) else { return };
        worker.last_heard = now;
        // One that was to go, and has gone with nothing left, is here anew.
        if held.is_empty() {
            worker.going = Going::Stays;
        }
        if let Some(old) = worker.connection.replace(connection)
            && old != connection
        {
            effects.push(Effect::Disconnect { worker: self.workers.name(id).clone(), connection: old });
        }
        self.refresh(id);
        let kept = self.keep(id, held, effects);
        self.send(id, Message::Welcome { connection, max_slots: slots, kept }, self.last_seq, effects);
        if !capabilities.has_engine && self.open_by[Requires::Engine as usize] > 0 {
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

    /// What the worker keeps: live grants, and of others whatever nobody else has by now, under a new attempt that is
    /// durable before the worker hears of it. A hello lists all that is held, so what it does not list never arrived or
    /// was handed back in a frame that is lost: it goes back into the queue.
    fn keep(&mut self, id: WorkerIx, held: &[HeldGrant], effects: &mut Vec<Effect>) -> Vec<Kept> {
        let mut kept = Vec::new();
        let name = self.workers.name(id).clone();
        let mut listed = BTreeSet::new();
        let (live, lapsed): (Vec<_>, Vec<_>) = held.iter().partition(|held| self.holds(id, &held.grant));
        for held in live {
            let Some(task) = self.task(held.grant.task) else { continue };
            let now = HeldGrant { grant: held.grant, unit: task.unit, samples: task.remaining.clone() };
            listed.insert(held.grant.task);
            kept.push(Kept { held: held.grant, now });
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
                kept.push(Kept { held: held.grant, now: HeldGrant { grant, unit: held.unit, samples } });
            }
        }
        let unlisted = self.workers.get(id).map(|worker| &worker.held - &listed).unwrap_or_default();
        let awaited = self.recovering.iter().copied().filter(|&task| {
            matches!(self.task(task).map(|task| &task.state), Some(TaskState::Recovering { worker }) if *worker == name)
        });
        for task in unlisted.into_iter().chain(awaited).collect::<Vec<_>>() {
            self.set_state(task, TaskState::Pending);
        }
        kept
    }

    /// A task of its own for those of the samples that are open and whose task is `free`; `None` when none is.
    pub(super) fn carve(
        &mut self,
        unit: UnitId,
        samples: &IntervalSet,
        free: impl Fn(TaskId, &Task) -> bool,
    ) -> Option<TaskId> {
        let mut found: Vec<(TaskId, IntervalSet)> = Vec::new();
        for id in self.homes.touched(unit, samples) {
            let Some(task) = self.task(id).filter(|task| task.is_open() && free(id, task)) else { continue };
            let part = task.remaining.minus(&task.remaining.minus(samples));
            if !part.is_empty() {
                found.push((id, part));
            }
        }
        let (first, of_first) = found.first()?;
        if found.len() == 1 && self.task(*first).is_some_and(|task| task.remaining == *of_first) {
            return Some(*first);
        }
        let mut cut = self.task(*first)?.clone();
        cut.failures = Failures::default();
        cut.attempt = found.iter().filter_map(|(id, _)| Some(self.task(*id)?.attempt)).max().unwrap_or_default();
        cut.remaining = IntervalSet::from_pairs(found.iter().flat_map(|(_, part)| part.pairs().iter().copied()));
        for (id, part) in found {
            self.shrink(id, &part);
        }
        Some(self.add(cut))
    }

    /// Takes samples out of a task.
    pub(super) fn shrink(&mut self, id: TaskId, part: &IntervalSet) {
        let Some(task) = self.task_mut(id) else { return };
        task.remaining = task.remaining.minus(part);
        let (model, gone) = (task.model, task.sample_cost.saturating_mul(u64::from(part.len())));
        let is_empty = task.remaining.is_empty();
        self.got_done(model, gone);
        if is_empty {
            self.set_state(id, TaskState::Done);
        }
    }

    /// So much less of a model is left to pay.
    pub(super) fn got_done(&mut self, model: u32, cost: u64) {
        if let Some(open) = self.open_cost.get_mut(&model) {
            *open = open.saturating_sub(cost);
        }
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
        let task = self.task_mut(id)?;
        task.attempt = Attempt(task.attempt.0.saturating_add(1));
        task.failures.again = false;
        let (unit, model, attempt, samples) = (task.unit, task.model, task.attempt, task.remaining.clone());
        self.set_state(id, TaskState::Granted { worker, hold: Hold::default() });
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.resident = Some(model);
            worker.models.granted(model, loads);
            if worker.held.len() == 1 {
                worker.last_progress = now;
            }
        }
        self.count_models(worker);
        self.comes_to(worker, unit);
        let holder = Holder { worker: self.workers.name(worker).clone(), unit, attempt, samples: samples.clone() };
        self.persist(Record::Attempt { task: id, holder }, effects);
        self.attempts_since += 1;
        Some((GrantId { epoch, task: id, attempt }, unit, samples))
    }

    /// Who holds a task, and under which grant.
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
        let Some(worker) = self.workers.get_mut(id).filter(|worker| worker.connection == Some(connection)) else {
            return;
        };
        worker.connection = None;
        let gone = match worker.going {
            Going::Stays => false,
            Going::Wanted => worker.held.is_empty(),
            Going::Drains => true,
        };
        self.refresh(id);
        if gone {
            self.lose(id, FailureClass::Preempted, "it left", effects);
        }
    }

    /// Forgets a worker: what it held can be granted again.
    pub(super) fn lose(&mut self, id: WorkerIx, class: FailureClass, why: &str, effects: &mut Vec<Effect>) {
        let Some(worker) = self.remove_worker(id) else { return };
        let name = self.workers.name(id).clone();
        if let Some(connection) = worker.connection {
            effects.push(Effect::Disconnect { worker: name.clone(), connection });
        }
        if !worker.held.is_empty() {
            let fate = if class == FailureClass::Preempted { "left" } else { "is lost" };
            let text = format!("worker {name} {fate} ({why}); {} tasks go to others", worker.held.len());
            effects.push(Effect::Note { text });
        }
        // A worker that got something done died of something else than these tasks. What it recorded is finite, so that
        // a task that does kill its workers is still found in the end.
        let is_blameless = worker.recorded_any || self.misfits.barred.contains_key(&name);
        let budget = if is_blameless { FailureClass::Preempted } else { class };
        for task in worker.held {
            self.requeue(task, id, budget, format!("worker {name} was lost: {why}"), effects);
            if let Some(task) = self.task_mut(task) {
                // Counted as what it is, whatever it costs the task.
                task.failures.again = class != FailureClass::Preempted;
            }
        }
    }
}
