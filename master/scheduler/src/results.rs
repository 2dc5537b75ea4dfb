//! Items that workers hand in: results, reports, samples that they have not begun.

use super::effect::{Effect, Record};
use super::event::{FailureClass, Handed};
use super::recorded::Arrival;
use super::state::Core;
use super::task_table::To;
use super::worker_ids::WorkerIx;
use compass_types::ids::{GrantId, ModelId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use std::ops::Range;

impl Core {
    /// The first result of a sample counts, under whatever grant. That the sample was granted to the worker is the
    /// leader's to know.
    pub(super) fn results(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        unit: UnitId,
        samples: Vec<Handed>,
        effects: &mut Vec<Effect>,
    ) {
        let elapsed =
            self.workers.get(id).map_or(0, |worker| self.now.saturating_sub(self.deadlines.last_progress(worker)));
        let mut settled: Option<(TaskId, u64)> = None;
        let (mut run, mut is_any_first) = (None, false);
        for sample in samples {
            let index = sample.index;
            let Some(home) = self.known_sample(unit, index, &mut run) else {
                effects.push(Effect::Note {
                    text: format!("worker {} sent a result for an unknown sample {index}", self.workers.name(id)),
                });
                continue;
            };
            self.record_duplicates(id, grant, unit, &sample, effects);
            match self.recorded.arrive(unit, index, &sample.result, sample.device) {
                Arrival::First => {
                    let worker = self.workers.name(id).clone();
                    self.persist(Record::Sample { unit, grant, worker, handed: sample }, effects);
                    self.refute(id, unit, index, effects);
                    if let Some(home) = home {
                        settled = settled.map(|(first, count)| (first, count + 1)).or(Some((home, 1)));
                        if let Some(change) = self.tasks.settle(home, index) {
                            self.follow(change);
                        }
                    }
                    is_any_first = true;
                }
                Arrival::Repeat => self.counters.repeats += 1,
                Arrival::Divergent { same_device } => {
                    self.counters.divergences += 1;
                    let worker = self.workers.name(id).clone();
                    self.persist(Record::Divergence { unit, grant, worker, handed: sample, same_device }, effects);
                }
            }
        }
        if is_any_first {
            self.workers.change(id, |worker| (worker.recorded_any, worker.infrastructure) = (true, 0));
        }
        if let Some((home, count)) = settled {
            self.learn(id, home, count, elapsed);
        }
    }

    /// The task of a sample: `None` for a sample that the plan does not have, `Some(None)` for one that was recorded before
    /// this run. Samples of one frame mostly follow each other within a task: `run` is where the latest was found.
    fn known_sample(&self, unit: UnitId, index: u32, run: &mut Option<(Range<u32>, TaskId)>) -> Option<Option<TaskId>> {
        if run.as_ref().is_none_or(|(samples, _)| !samples.contains(&index)) {
            *run = self.tasks.run_of_sample(unit, index);
        }
        match run {
            Some((_, task)) => Some(Some(*task)),
            None => self.recorded.contains(unit, index).then_some(None),
        }
    }

    /// Learns the speed of the worker: the cost of `count` samples that it hands in at once, the first of them of task
    /// `home`, in the time since it last handed something in. The first of a unit also took the time for what all of them
    /// begin with: without that, a few samples after a long header would make a worker look many times slower than it is.
    fn learn(&mut self, id: WorkerIx, home: TaskId, count: u64, elapsed: u64) {
        let Some(task) = self.task(home) else { return };
        let (unit, model) = (task.unit, task.model);
        let first = if self.speeds.has_seen(id, model, unit) { 0 } else { task.shared_cost };
        let cost = task.sample_cost.saturating_mul(count).saturating_add(first);
        self.speeds.observe(id, unit, model, cost, elapsed);
        self.bars.got_on(model, self.now);
    }

    /// Notes that a worker handed a whole grant back: unless it has others of that unit or has recorded some of it, it never
    /// computed what its samples begin with.
    fn forget_unit(&mut self, id: WorkerIx, model: ModelId, unit: UnitId) {
        let Some(worker) = self.workers.get(id) else { return };
        let has_others = worker.held.iter().filter_map(|&task| self.task(task)).any(|task| task.unit == unit);
        if !has_others && !self.speeds.has_seen(id, model, unit) {
            self.workers.change(id, |worker| worker.units.forget(unit));
        }
    }

    pub(super) fn report(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        unit: UnitId,
        report: Vec<u8>,
        effects: &mut Vec<Effect>,
    ) {
        let worker = self.workers.name(id).clone();
        self.persist(Record::Report { worker, report }, effects);
        if self.holds(id, &grant) {
            // The worker believes to be done, yet samples are missing: the rest is granted again.
            let message = format!(
                "worker {} finished task {} of unit {unit} but left samples out",
                self.workers.name(id),
                grant.task
            );
            self.hand_back(id, grant, FailureClass::Transient, message, effects);
        }
    }

    /// Only now do the samples leave the grant: from here on their holder will not begin them.
    pub(super) fn returned(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        samples: &IntervalSet,
        held: bool,
        effects: &mut Vec<Effect>,
    ) {
        if !self.holds(id, &grant) {
            return;
        }
        let Some(task) = self.task(grant.task) else { return };
        let (model, unit) = (task.model, task.unit);
        let part = task.remaining.minus(&task.remaining.minus(samples));
        let whole = part == task.remaining;
        let was_asked = self.tasks.answered(grant.task, !part.is_empty());
        self.counters.stolen += u64::from(was_asked && !part.is_empty());
        if whole && !part.is_empty() {
            self.transition(grant.task, To::Pending);
            self.forget_unit(id, model, unit);
            return;
        }
        if !part.is_empty() {
            self.carve(unit, &part, |task, _| task == grant.task);
        }
        if !held {
            let message = format!("worker {} does not hold task {}", self.workers.name(id), grant.task);
            // Asked back because the worker cannot load the model, it costs no try.
            let is_barred = self.workers.get(id).is_some_and(|worker| worker.barred.contains(&model));
            let class = if is_barred { FailureClass::Preempted } else { FailureClass::Lost };
            self.hand_back(id, grant, class, message, effects);
        }
    }
}
