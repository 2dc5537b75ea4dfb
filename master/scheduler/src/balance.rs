//! Towards the end no worker holds more than the time that is left for all: what is begun cannot be stolen, so a slow worker
//! must not begin what the others would have to wait for.
//!
//! The time that is left for all is the work that is left over the speed of all workers. It is looked at with every tick,
//! once a good part of what is left is out: before, what is too much for one is no harm.

use super::effect::{Effect, Message};
use super::state::Core;
use super::task::Task;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use compass_types::ids::TaskId;
use compass_types::intervals::IntervalSet;

/// Tasks in the queue beyond which the end is far, and so many times as much work waiting as is out.
const FAR: usize = 2000;
const FAR_WORK: f64 = 4.0;
/// Holding so much more than one's time, and so many milliseconds, is let pass.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 500.0;
/// The part of the time that is left which a worker is left with where samples can go elsewhere for nothing, and the part
/// up to which that is let pass: estimates are what they are, and what is begun as one pack comes back no more. So what is
/// held halves as the end comes nearer.
const HELD: f64 = 0.5;
const HELD_SLACK: f64 = 0.75;

/// The time that is left for all, and how long a worker will be busy with what it holds, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLeft {
    fair: f64,
    load: f64,
}

/// Returns the most that a worker may hold whose last task is like this one, in milliseconds.
fn most_ms(fair: f64, task: &Task) -> f64 {
    fair * if task.shared_cost > 0 { SLACK } else { HELD_SLACK } + SLACK_MS
}

impl TimeLeft {
    /// Returns whether the worker holds too much to finish any further task in time.
    pub(super) fn is_over(self) -> bool {
        self.load > self.fair * SLACK.max(HELD_SLACK) + SLACK_MS
    }

    /// Returns whether the worker would still finish a task in time if each sample takes it `sample_ms`.
    pub(super) fn suffices(self, task: &Task, sample_ms: f64) -> bool {
        self.load + sample_ms * f64::from(task.remaining.len()) <= most_ms(self.fair, task)
    }
}

impl Core {
    /// Looks at the time that is left, and asks back what holders would not be through with in it.
    pub(super) fn rebalance(&mut self, effects: &mut Vec<Effect>) {
        self.timing.set_fair_ms(if self.limits.split { self.time_left_ms() } else { None });
        let Some(fair) = self.timing.fair_ms() else { return };
        for id in self.workers.keys().collect::<Vec<_>>() {
            let Some((task, samples)) = self.excess(id, fair) else { continue };
            let Some((_, grant)) = self.holder(task) else { continue };
            self.ask(id, task, samples.len(), false);
            let (samples, reason) = (Some(samples), "others will be done before");
            let message = Message::Revoke { grant, samples, reason, only_unbegun: false };
            self.send(id, message, self.last_seq, effects);
        }
    }

    /// The work that is left over the speed of all, in milliseconds; `None` while speeds are unknown or the end is far, and
    /// where there is no other worker to share it with.
    fn time_left_ms(&self) -> Option<f64> {
        if self.queue.len() > FAR || self.is_last_worker() {
            return None;
        }
        let average_ms = |task: &Task| Some(self.task_cost(task) / self.speeds.average(task.model)?);
        let (mut waiting, mut out) = (0.0, 0.0);
        for task in self.queue.iter().filter_map(|id| self.task(id)) {
            waiting += average_ms(task)?;
        }
        let mut speed = 0.0;
        for (id, worker) in
            self.workers.iter().filter(|(_, worker)| worker.connection.is_some() && !worker.is_draining())
        {
            for task in worker.held.iter().filter_map(|&id| self.task(id)) {
                out += average_ms(task)?;
            }
            let model = worker.resident?;
            speed += self.speeds.rate(id, model)? / self.speeds.average(model)?;
        }
        (speed > 0.0 && out > 0.0 && waiting <= FAR_WORK * out).then(|| (waiting + out) / speed)
    }

    /// Returns the cost of a task's remaining samples, as far as is known by now.
    fn task_cost(&self, task: &Task) -> f64 {
        self.sample_cost(task) * f64::from(task.remaining.len())
    }

    /// The end of the latest task of a worker that holds more than its time.
    fn excess(&self, id: WorkerIx, fair: f64) -> Option<(TaskId, IntervalSet)> {
        let worker = self.workers.get(id).filter(|worker| worker.connection.is_some())?;
        let load = self.load_ms(id);
        let at = worker.held.iter().rev().copied().find(|&task| self.task(task).is_some_and(Task::is_revocable))?;
        let task = self.task(at)?;
        if load <= most_ms(fair, task) {
            return None;
        }
        let over = load - if task.shared_cost > 0 { fair } else { fair * HELD };
        let count = (over / self.sample_ms(id, task)) as u32;
        // Somebody else will have to compute what they begin with.
        if !self.is_worth(id, task, f64::from(count) * self.sample_cost(task), over) {
            return None;
        }
        let kept = task.remaining.len().saturating_sub(count);
        let samples = IntervalSet::from_indices(task.remaining.iter().skip(kept as usize));
        (!samples.is_empty()).then_some((at, samples))
    }

    /// Returns the time that one of the task's samples takes the worker, in milliseconds.
    pub(super) fn sample_ms(&self, id: WorkerIx, task: &Task) -> f64 {
        self.sample_cost(task) / self.rate(id, task.model)
    }

    /// Returns the bound on a worker that has something to do; `None` where nothing bounds it.
    pub(super) fn time_left_of(&self, id: WorkerIx, worker: &Worker) -> Option<TimeLeft> {
        let fair = self.timing.fair_ms().filter(|_| !worker.held.is_empty())?;
        Some(TimeLeft { fair, load: self.load_ms(id) })
    }

    /// Returns whether a worker that has something to do would not finish a task in the time that is left.
    pub(super) fn is_busy_until_end(&self, id: WorkerIx, worker: &Worker, task: &Task) -> bool {
        let left = self.time_left_of(id, worker);
        left.is_some_and(|left| left.is_over() || !left.suffices(task, self.sample_ms(id, task)))
    }

    /// The task, or its beginning, if the worker might not be through with all of it in time: half of what it should be,
    /// as estimates are what they are, and the rest is left for the first idle worker.
    pub(super) fn in_time(&mut self, id: WorkerIx, at: TaskId) -> TaskId {
        let Some(fair) = self.timing.fair_ms() else { return at };
        let Some(task) = self.task(at) else { return at };
        let count = ((fair / 2.0 / self.sample_ms(id, task)) as usize).max(1);
        if self.is_last_worker() || count as f64 * SLACK >= f64::from(task.remaining.len()) {
            return at;
        }
        // Somebody else may have to compute what the rest begins with.
        let rest = f64::from(task.remaining.len()) - count as f64;
        if !self.is_worth(id, task, rest * self.sample_cost(task), rest * self.sample_ms(id, task)) {
            return at;
        }
        let (unit, head) = (task.unit, IntervalSet::from_indices(task.remaining.iter().take(count)));
        self.carve(unit, &head, |other, _| other == at).unwrap_or(at)
    }

    fn is_last_worker(&self) -> bool {
        self.workers.indexes().connected() < 2
    }
}
