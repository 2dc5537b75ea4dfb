//! The transitions: one function per event.

use super::effect::{Effect, Message, Record};
use super::event::{Capabilities, ConnectionId, Event, FailureClass, GrantRef, HeldGrant};
use super::recorded::Arrival;
use super::state::{Core, Requires, Task, TaskState, Worker};
use compass_common::ids::{TaskId, UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use std::collections::BTreeSet;

const SHUTDOWN: Message = Message::Shutdown { reason: "every task is done or failed" };

impl Core {
    /// Takes one event at `now` (milliseconds of a clock that never goes back) and appends what is to be done.
    pub fn apply(&mut self, now: u64, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Attached { worker, connection, capabilities, held } => {
                self.attach(now, worker, connection, capabilities, &held, effects);
            }
            Event::Detached { worker, connection } => self.detach(&worker, connection, effects),
            Event::Exited { worker } => self.lose(&worker, FailureClass::Lost, "its process ended", effects),
            Event::Heartbeat { worker } => self.heard(now, &worker),
            Event::Credit { worker, grants } => {
                self.heard(now, &worker);
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.credit = grants;
                }
            }
            Event::Results { worker, grant, unit, samples } => {
                self.heard(now, &worker);
                self.progressed(now, &worker);
                self.results(&worker, grant, unit, samples, effects);
            }
            Event::Report { worker, grant, unit, report } => {
                self.heard(now, &worker);
                self.report(&worker, grant, unit, report, effects);
            }
            Event::Failed { worker, grant, class, message } => {
                self.heard(now, &worker);
                self.progressed(now, &worker);
                self.hand_back(&worker, grant, class, message, effects);
            }
            Event::Draining { worker } => {
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.draining = true;
                }
            }
            Event::Tick => self.tick(now, effects),
        }
        self.dispatch(effects);
        self.conclude(effects);
    }

    fn heard(&mut self, now: u64, worker: &WorkerId) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.last_heard = now;
        }
    }

    fn attach(
        &mut self,
        now: u64,
        id: WorkerId,
        connection: ConnectionId,
        capabilities: Capabilities,
        held: &[HeldGrant],
        effects: &mut Vec<Effect>,
    ) {
        if self.workers.get(&id).is_some_and(|known| known.session != capabilities.session) {
            self.lose(&id, FailureClass::Lost, "another process took its name", effects);
        }
        let elsewhere: u32 =
            self.workers.iter().filter(|(other, _)| **other != id).map(|(_, worker)| worker.slots).sum();
        let room = self.limits.max_slots.map_or(u32::MAX, |most| most.saturating_sub(elsewhere));
        let slots = capabilities.slots.min(room);
        if slots == 0 {
            let most = self.limits.max_slots.unwrap_or_default();
            let reason = format!("all {most} slots of this job are taken (max_num_workers = {most})");
            self.send(&id, Message::Refused { reason }, self.last_seq, effects);
            return;
        }
        let worker = self.workers.entry(id.clone()).or_insert_with(|| Worker {
            connection: None,
            session: capabilities.session.clone(),
            slots,
            has_engine: capabilities.has_engine,
            sandbox: capabilities.sandbox.clone(),
            credit: 0,
            held: BTreeSet::new(),
            resident: None,
            last_heard: now,
            draining: false,
            last_progress: now,
            stall: 0,
            recorded_any: false,
        });
        worker.last_heard = now;
        if let Some(old) = worker.connection.replace(connection)
            && old != connection
        {
            effects.push(Effect::Disconnect { worker: id.clone(), connection: old });
        }
        self.send(&id, Message::Welcome { max_slots: slots }, self.last_seq, effects);
        if !capabilities.has_engine && self.tasks.iter().any(|task| task.is_open() && task.requires == Requires::Engine)
        {
            let build = "it was built without libtorch; build compass-worker with its default features";
            effects.push(Effect::Note { text: format!("worker {id} cannot run every model of this job: {build}") });
        }
        self.refuse_programs(&id, effects);
        self.reconcile(&id, held, effects);
        if self.finished && !self.limits.workers_stay {
            self.send(&id, SHUTDOWN, self.last_seq, effects);
        }
    }

    /// What the worker holds and the master does not know is revoked: the results of its packs in flight still count.
    fn reconcile(&mut self, id: &WorkerId, held: &[HeldGrant], effects: &mut Vec<Effect>) {
        for held in held {
            if !self.is_live(id, &held.grant) {
                let reason = "granted under another leader or taken back";
                self.send(id, Message::Revoke { grant: held.grant, reason }, self.last_seq, effects);
            }
        }
    }

    /// A worker may come back until its lease runs out, unless it said that it would go.
    fn detach(&mut self, id: &WorkerId, connection: ConnectionId, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.get_mut(id).filter(|worker| worker.connection == Some(connection)) else {
            return;
        };
        worker.connection = None;
        if worker.draining {
            self.lose(id, FailureClass::Preempted, "it drained", effects);
        }
    }

    /// Forgets a worker: what it held can be granted again.
    fn lose(&mut self, id: &WorkerId, class: FailureClass, why: &str, effects: &mut Vec<Effect>) {
        let Some(worker) = self.workers.remove(id) else { return };
        if let Some(connection) = worker.connection {
            effects.push(Effect::Disconnect { worker: id.clone(), connection });
        }
        if !worker.held.is_empty() {
            let text = format!("worker {id} is lost ({why}); {} tasks go to others", worker.held.len());
            effects.push(Effect::Note { text });
        }
        // A worker that got something done died of something else than these tasks. What it recorded is finite, so that
        // a task that does kill its workers is still found in the end.
        let class = if worker.recorded_any { FailureClass::Preempted } else { class };
        for task in worker.held {
            self.requeue(task, class, format!("worker {id} was lost: {why}"), effects);
        }
    }

    fn requeue(&mut self, id: TaskId, class: FailureClass, message: String, effects: &mut Vec<Effect>) {
        let limits = self.limits.clone();
        let Some(task) = self.task_mut(id) else { return };
        let spent = match class {
            FailureClass::User => true,
            FailureClass::Preempted => false,
            FailureClass::Transient => {
                task.transient_failures += 1;
                task.transient_failures > limits.retry
            }
            FailureClass::Lost => {
                task.losses += 1;
                task.losses > limits.losses
            }
        };
        if spent {
            // A model that cannot be loaded fails every task with the same words: they are said once.
            let known =
                |task: &Task| matches!(&task.state, TaskState::Failed { message: said, .. } if *said == message);
            if !self.tasks.iter().any(known) {
                effects.push(Effect::Note { text: format!("task {id} failed: {message}") });
            }
            let Some(task) = self.task_mut(id) else { return };
            task.state = TaskState::Failed { class, message };
        } else {
            task.state = TaskState::Pending;
            self.pending.insert(id);
        }
    }

    /// The worker handed something in.
    fn progressed(&mut self, now: u64, worker: &WorkerId) {
        if let Some(worker) = self.workers.get_mut(worker) {
            (worker.last_progress, worker.stall) = (now, 0);
        }
    }

    fn results(
        &mut self,
        id: &WorkerId,
        grant: GrantRef,
        unit: UnitId,
        samples: Vec<(u32, Vec<u8>)>,
        effects: &mut Vec<Effect>,
    ) {
        let mut durable = IntervalSet::new();
        for (index, result) in samples {
            let Some(home) = self.known_sample(unit, index) else {
                effects.push(Effect::Note { text: format!("worker {id} sent a result for an unknown sample {index}") });
                continue;
            };
            match self.recorded.arrive(unit, index, &result) {
                Arrival::First => {
                    self.persist(Record::Sample { unit, grant, worker: id.clone(), result }, effects);
                    if let Some(worker) = self.workers.get_mut(id) {
                        worker.recorded_any = true;
                    }
                    if let Some(home) = home {
                        self.settle(home, index);
                    }
                }
                Arrival::Repeat => self.repeats += 1,
                Arrival::Divergent => {
                    self.divergences += 1;
                    let text =
                        format!("sample {index} of unit {unit} came again from {id} and differs; the first stands");
                    effects.push(Effect::Note { text });
                    self.persist(Record::Divergence { unit, grant, worker: id.clone(), result }, effects);
                }
            }
            durable.insert(index);
        }
        if !durable.is_empty() {
            self.send(id, Message::Commit { unit, samples: durable }, self.last_seq, effects);
        }
    }

    /// `None` for a sample that the plan does not have; `Some(None)` for one that was recorded before this run.
    fn known_sample(&self, unit: UnitId, index: u32) -> Option<Option<TaskId>> {
        match self.home_of(unit, index) {
            Some(task) => Some(Some(task)),
            None => self.recorded.done(unit).contains(index).then_some(None),
        }
    }

    fn settle(&mut self, id: TaskId, index: u32) {
        let Some(task) = self.task_mut(id) else { return };
        task.remaining.remove(index);
        task.losses = 0;
        if !task.remaining.is_empty() {
            return;
        }
        let before = std::mem::replace(&mut task.state, TaskState::Done);
        self.pending.remove(&id);
        if let TaskState::Granted { worker } = before
            && let Some(worker) = self.workers.get_mut(&worker)
        {
            worker.held.remove(&id);
        }
    }

    fn report(&mut self, id: &WorkerId, grant: GrantRef, unit: UnitId, report: Vec<u8>, effects: &mut Vec<Effect>) {
        self.persist(Record::Report { worker: id.clone(), report }, effects);
        if self.is_live(id, &grant) {
            // The worker believes to be done, yet samples are missing: the rest is granted again.
            let message = format!("worker {id} finished task {} of unit {unit} but left samples out", grant.task);
            self.hand_back(id, grant, FailureClass::Transient, message, effects);
        }
    }

    fn hand_back(
        &mut self,
        id: &WorkerId,
        grant: GrantRef,
        class: FailureClass,
        message: String,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_live(id, &grant) {
            return;
        }
        if let Some(worker) = self.workers.get_mut(id) {
            worker.held.remove(&grant.task);
        }
        let model = self.task(grant.task).map(|task| task.model);
        self.requeue(grant.task, class, message.clone(), effects);
        if class == FailureClass::User {
            // No worker can do better with this model: its other tasks fail with the same words, at once.
            let doomed: Vec<_> =
                self.pending.iter().copied().filter(|&id| self.task(id).map(|t| t.model) == model).collect();
            for task in doomed {
                self.pending.remove(&task);
                if let Some(task) = self.task_mut(task) {
                    task.state = TaskState::Failed { class, message: message.clone() };
                }
            }
        }
    }

    fn tick(&mut self, now: u64, effects: &mut Vec<Effect>) {
        let limits = self.limits.clone();
        let mut lost = Vec::new();
        for (id, worker) in &mut self.workers {
            let silent = now.saturating_sub(worker.last_heard);
            if silent >= limits.lease_ttl {
                lost.push(id.clone());
            } else if silent >= limits.silence
                && let Some(connection) = worker.connection.take()
            {
                effects.push(Effect::Disconnect { worker: id.clone(), connection });
            }
        }
        self.name_the_stalled(now, effects);
        for worker in lost {
            self.lose(&worker, FailureClass::Lost, "its lease ran out", effects);
        }
    }

    /// A hung engine looks like a slow one from here, so nobody is thrown out; but a run must not stand still in silence.
    fn name_the_stalled(&mut self, now: u64, effects: &mut Vec<Effect>) {
        let stall = self.limits.stall;
        for (id, worker) in &mut self.workers {
            if worker.held.is_empty() {
                worker.last_progress = now;
            }
            let since = now.saturating_sub(worker.last_progress);
            if since < worker.stall.max(stall) {
                continue;
            }
            worker.stall = since * 2;
            let (tasks, seconds) = (worker.held.len(), since / 1000);
            let text = format!(
                "worker {id} holds {tasks} tasks and has handed in nothing for {seconds} s: it may be loading a model, \
                 or an engine of it hangs; its log tells"
            );
            effects.push(Effect::Note { text });
        }
    }

    fn conclude(&mut self, effects: &mut Vec<Effect>) {
        if self.finished || !self.is_finished() {
            return;
        }
        self.finished = true;
        if self.limits.workers_stay {
            return;
        }
        let after = self.last_seq;
        for id in self.workers.keys() {
            self.send(id, SHUTDOWN, after, effects);
        }
    }
}
