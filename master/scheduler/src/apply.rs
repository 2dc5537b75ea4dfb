//! From events to the transitions that they bring about.

use super::deadlines::{Overdue, Stalled};
use super::effect::{Effect, Message, Record};
use super::event::{Event, FailureClass};
use super::state::Core;
use super::task_table::To;
use super::worker::Drain;
use super::worker_ids::WorkerIx;
use compass_types::ids::{ModelId, WorkerId};

/// Beginning of the reason for which samples of a cancelled job have no result.
pub const CANCELLED: &str = "cancelled: ";

/// Message to a worker when nothing is left to do.
pub const SHUTDOWN: Message = Message::Shutdown { reason: "every task is done or failed" };

impl Core {
    /// Takes one event at `now` (milliseconds of a clock that never goes back) and appends what is to be done.
    pub fn apply(&mut self, now: u64, event: Event, effects: &mut Vec<Effect>) {
        self.now = now;
        match event {
            Event::Attached { worker, connection, capabilities, held } => {
                let worker = self.workers.intern(&worker);
                self.attach(worker, connection, capabilities, &held, effects);
            }
            Event::Detached { worker, connection } => {
                if let Some(worker) = self.workers.find(&worker) {
                    self.detach(worker, connection, effects);
                }
            }
            Event::Exited { worker, wanted } => {
                let class = if wanted { FailureClass::Preempted } else { FailureClass::Lost };
                if let Some(worker) = self.workers.find(&worker) {
                    self.lose(worker, class, "its process ended", effects);
                }
                self.recover_from(&worker);
            }
            // Nothing else has changed: with thousands of workers most of what comes is this.
            Event::Heartbeat { worker } => {
                self.heard(&worker);
                return;
            }
            Event::Credit { worker, grants } => {
                let worker = self.heard(&worker);
                self.workers.change(worker, |worker| worker.credit = grants);
            }
            Event::Results { worker, grant, unit, samples } => {
                let worker = self.heard(&worker);
                self.results(worker, grant, unit, samples, effects);
                self.progressed(worker);
            }
            Event::Misfits { worker, grant, unit, samples } => {
                let worker = self.heard(&worker);
                self.progressed(worker);
                self.misfits(worker, grant, unit, samples, effects);
            }
            Event::Refused { worker, times } => {
                let worker = self.heard(&worker);
                self.refused(worker, times, effects);
            }
            Event::Report { worker, grant, unit, report, .. } => {
                let worker = self.heard(&worker);
                self.report(worker, grant, unit, report, effects);
            }
            Event::Pinned { worker, model, pin } => {
                self.heard(&worker);
                self.persist(Record::Pin { worker, model, pin }, effects);
            }
            Event::Failed { worker, grant, class, message } => {
                let worker = self.heard(&worker);
                self.progressed(worker);
                self.hand_back(worker, grant, class, message, effects);
            }
            Event::Unable { worker, model, kind, text } => {
                let worker = self.heard(&worker);
                self.unable(worker, model, kind, text, effects);
            }
            Event::Loaded { worker, model, slot, ms } => {
                let worker = self.heard(&worker);
                self.loaded(worker, model, slot, ms);
            }
            Event::WeightsGone { model } => self.bars.weights_gone(model),
            Event::Stop { model, reason } => self.stop(model, reason, effects),
            Event::Supply(supply) => self.bars.set_supply(supply),
            Event::Returned { worker, grant, samples, held } => {
                let worker = self.heard(&worker);
                self.has_answered(worker);
                self.returned(worker, grant, &samples, held, effects);
            }
            Event::Unbegun { worker, grant, samples } => {
                let worker = self.heard(&worker);
                self.comes_back_unbegun(worker, grant, &samples, effects);
            }
            Event::Draining { worker } => {
                if let Some(worker) = self.workers.find(&worker) {
                    self.workers.change(worker, |worker| worker.drain = Drain::Announced);
                }
            }
            Event::Release { worker } => {
                if let Some(worker) = self.workers.find(&worker) {
                    self.release(worker, effects);
                }
            }
            Event::Cancel { reason } => self.cancel(&reason, effects),
            Event::Tick => self.tick(effects),
        }
        self.judge_bars(effects);
        self.fail_stopped();
        self.dispatch(effects);
        self.steal(effects);
        self.checkpoint_assignments(effects);
        self.conclude(effects);
    }

    /// Notes a sign of life of a worker; its number, by which it goes from here on.
    fn heard(&mut self, worker: &WorkerId) -> WorkerIx {
        let (id, now) = (self.workers.intern(worker), self.now);
        self.workers.change(id, |worker| worker.last_heard = now);
        id
    }

    /// The worker handed something in.
    fn progressed(&mut self, worker: WorkerIx) {
        let now = self.now;
        self.workers.change(worker, |worker| (worker.stall, worker.last_progress) = (0, now));
        self.has_answered(worker);
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) {
        self.deadlines.tick(self.now);
        self.end_recovery();
        let Overdue { lost, silent } = self.deadlines.overdue(&self.workers, self.now, &self.limits);
        for id in silent {
            if let Some(connection) = self.workers.change(id, |worker| worker.connection.take()).flatten() {
                effects.push(Effect::Disconnect { worker: self.workers.name(id).clone(), connection });
            }
        }
        self.name_stalled_workers(effects);
        self.lift_bars();
        for worker in lost {
            self.lose(worker, FailureClass::Lost, "its lease ran out", effects);
        }
        self.part_with_unresponsive_workers(effects);
        self.judge_standstill();
        self.judge_room(effects);
        self.speeds.tick(self.workers.len());
        // Lost workers' tasks are pending again: they count as such, so that none is granted in fragments.
        self.rebalance(effects);
    }

    /// A hung engine looks like a slow one from here, so no worker is removed; but a run must not stand still in silence.
    fn name_stalled_workers(&mut self, effects: &mut Vec<Effect>) {
        // What they hold may be loaded elsewhere from here on.
        for Stalled { worker, tasks, ms } in self.deadlines.stalled(&mut self.workers, self.now, self.limits.stall) {
            let text = self.no_results(worker, tasks, ms);
            effects.push(Effect::Note { text });
            self.ask_for_unbegun(worker, effects);
        }
    }

    /// A slot of a worker has loaded a model.
    fn loaded(&mut self, id: WorkerIx, model: ModelId, slot: u32, ms: u64) {
        self.counters.loads += 1;
        self.speeds.loaded(model, ms);
        self.bars.got_on(model, self.now);
        self.workers.change(id, |worker| worker.models.loaded(slot, model));
    }

    /// No new grants from here on, and those that are out are taken back; what is recorded stays.
    fn cancel(&mut self, reason: &str, effects: &mut Vec<Effect>) {
        let why = format!("{CANCELLED}{reason}");
        let open = self.tasks.iter().filter(|(_, task)| task.is_open()).map(|(id, _)| id);
        for id in open.collect::<Vec<_>>() {
            if let Some((worker, grant)) = self.holder(id) {
                let (samples, reason) = (None, "the job was cancelled");
                let message = Message::Revoke { grant, samples, reason, only_unbegun: false };
                self.send(worker, message, self.last_seq, effects);
            }
            self.transition(id, To::Failed { class: FailureClass::User, message: why.clone() });
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
