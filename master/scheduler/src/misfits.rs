//! Results that do not fit the plan: tried elsewhere once, and held against the worker; results that are refused, against it, too.
//!
//! Numbers that are not finite may be the model's own: another worker's result tells. If it has none either, the sample
//! fails with that as its reason; if it has, the first worker was wrong. Any other misfit is the worker's own at once.

use super::effect::{Effect, Record};
use super::event::{FailureClass, Unfit};
use super::state::Core;
use super::task::{Task, TaskState};
use super::task_table::To;
use super::words::some;
use super::worker::Drain;
use super::worker_ids::WorkerIx;
use compass_plan::Misfit;
use compass_types::ids::{GrantId, TaskId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// So many results of a worker that do not fit bar it from the job.
const STRIKES: u32 = 3;
/// So many times that results or reports of a worker are refused bar it from the job: more than those of a worker whose grants no
/// leader can check any more.
const REFUSALS: u64 = 256;
/// So many tries that end in a misfit are all that a sample gets.
const TRIES: u32 = 2;

impl Core {
    /// Results of samples of `unit` that are none.
    pub(super) fn misfits(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        unit: UnitId,
        samples: Vec<Unfit>,
        effects: &mut Vec<Effect>,
    ) {
        let name = self.workers.name(id).clone();
        let mut again = IntervalSet::new();
        let mut given_up: BTreeMap<String, IntervalSet> = BTreeMap::new();
        let mut last = None;
        for Unfit { index, result, misfit } in samples {
            self.counters.misfits += 1;
            self.persist(Record::Misfit { unit, grant, worker: name.clone(), result }, effects);
            if misfit != Misfit::NotFinite {
                *self.misfits.strikes.entry(name.clone()).or_default() += 1;
                last = Some(misfit.to_string());
            }
            if self.recorded.contains(unit, index) {
                continue;
            }
            let doubt = self.misfits.doubts.entry((unit, index)).or_default();
            doubt.tries += 1;
            doubt.by.insert(name.clone(), misfit);
            if doubt.tries < TRIES {
                again.insert(index);
            } else {
                given_up.entry(doubt.reason()).or_default().insert(index);
            }
        }
        // What another has by now is its business.
        let own = |_, task: &Task| match &task.state {
            TaskState::Granted { worker, .. } => *worker == id,
            state => *state == TaskState::Pending,
        };
        if let Some(task) = self.carve(unit, &again, own) {
            self.is_to_be_tried_elsewhere(task, id);
        }
        for (message, samples) in given_up {
            if let Some(task) = self.carve(unit, &samples, own) {
                let text = format!("{} failed: {message}", some(samples.len(), "sample"));
                effects.push(Effect::Note { text });
                self.transition(task, To::Failed { class: FailureClass::Deterministic, message });
            }
        }
        if let Some(misfit) = last {
            self.bar_if_struck(&name, &misfit, effects);
        }
    }

    fn is_to_be_tried_elsewhere(&mut self, id: TaskId, worker: WorkerIx) {
        self.tasks.with_failures(id, |failures| failures.workers.insert(worker));
        self.counters.retries += 1;
        self.transition(id, To::Pending);
    }

    /// A sample has a result: those who gave numbers that are not finite were wrong.
    pub(super) fn refute(&mut self, id: WorkerIx, unit: UnitId, index: u32, effects: &mut Vec<Effect>) {
        if self.misfits.doubts.is_empty() {
            return;
        }
        let Some(doubt) = self.misfits.doubts.remove(&(unit, index)) else { return };
        for (worker, misfit) in doubt.by {
            if misfit == Misfit::NotFinite && worker != *self.workers.name(id) {
                *self.misfits.strikes.entry(worker.clone()).or_default() += 1;
                self.bar_if_struck(&worker, &misfit.to_string(), effects);
            }
        }
    }

    fn bar_if_struck(&mut self, id: &WorkerId, misfit: &str, effects: &mut Vec<Effect>) {
        let strikes = self.misfits.strikes.get(id).copied().unwrap_or_default();
        if strikes < STRIKES || self.misfits.is_barred(id) {
            return;
        }
        self.bar(id, format!("{strikes} of its results do not fit the plan, the last with {misfit}"), effects);
    }

    /// Results of a worker are refused again and again.
    pub(super) fn refused(&mut self, id: WorkerIx, times: u64, effects: &mut Vec<Effect>) {
        let name = self.workers.name(id).clone();
        if times >= REFUSALS && !self.misfits.is_barred(&name) {
            self.bar(&name, format!("it sent results that it was never granted {times} times"), effects);
        }
    }

    fn bar(&mut self, id: &WorkerId, reason: String, effects: &mut Vec<Effect>) {
        effects.push(Effect::Note { text: format!("worker {id} is barred from this job: {reason}") });
        self.misfits.barred.insert(id.clone(), reason);
        // It may be at what it holds until it hears so: that goes to others when its process has ended, or its lease.
        let Some(number) = self.workers.find(id) else { return };
        let connection = self.workers.change(number, |worker| {
            worker.drain = Drain::Requested;
            worker.connection.take()
        });
        if let Some(connection) = connection.flatten() {
            effects.push(Effect::Disconnect { worker: id.clone(), connection });
        }
    }

    /// Returns the reason why a worker takes no more part; `None` when it may.
    pub(super) fn is_barred(&self, id: &WorkerId) -> Option<String> {
        let reason = self.misfits.barred.get(id)?;
        Some(format!("worker {id} is barred from this job: {reason}"))
    }

    /// Workers that take no more part, and why.
    pub fn barred_from_job(&self) -> impl Iterator<Item = (&WorkerId, &str)> {
        self.misfits.barred.iter().map(|(worker, reason)| (worker, reason.as_str()))
    }
}
