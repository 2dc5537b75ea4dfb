//! Samples that have no room in the memory of a worker: tried on others, and failed once no worker is left that could.
//!
//! The memory of a worker is not known here, so that each worker may try these tasks once. A task waits behind all others
//! meanwhile, and then for a worker that may come, as a model does that no worker can load.

use super::bars::Supply;
use super::effect::Effect;
use super::event::FailureClass;
use super::room_wait::RoomWait;
use super::state::Core;
use super::task::Task;
use super::task_table::To;
use super::words::{lasting, some};
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use compass_types::ids::TaskId;

/// Workers that try the same samples at most: of many alike, none has more memory.
const MOST_TRIES: usize = 8;
/// Interval at which the screen tells that samples are waited for, in milliseconds.
const SAY_MS: u64 = 60_000;

impl Core {
    /// Says that samples of a task have no room on a worker, once for each model and worker.
    pub(super) fn say_no_room(&mut self, id: TaskId, worker: WorkerIx, message: &str, effects: &mut Vec<Effect>) {
        let Some(task) = self.task(id) else { return };
        let (model, name) = (self.labels.model(task.model), self.workers.name(worker));
        let text = format!("worker {name} has no room for samples of {model}, which wait for one that has: {message}");
        if self.failure_notes.is_new(&format!("no room for {model} on {name}")) {
            effects.push(Effect::Note { text });
        }
    }

    /// Fails the tasks that no worker has room for, once nothing else is left to do and no other worker is to be expected.
    pub(super) fn judge_room(&mut self, effects: &mut Vec<Effect>) {
        let waiting: Vec<TaskId> = self.queue.lacking_room().collect();
        let may_be_run = |id: &TaskId| self.task(*id).is_some_and(|task| self.may_have_room(task));
        let is_all = !waiting.is_empty() && waiting.len() == self.tasks.open() as usize;
        let is_up = self.workers.values().any(|worker| worker.connection.is_some());
        if !is_all || waiting.iter().any(may_be_run) {
            self.room_wait = RoomWait::default();
            return;
        }
        // A worker that several jobs share comes and goes: what it has no room for has waited meanwhile.
        if !is_up {
            return;
        }
        let since = *self.room_wait.since.get_or_insert(self.now);
        let is_tried = |id: &TaskId| self.task(*id).is_some_and(|task| task.failures.no_room_on.len() >= MOST_TRIES);
        let no_more = self.bars.supply() == Supply::None && self.now >= since + self.limits.settles;
        let no_more = no_more || waiting.iter().all(is_tried);
        let left = (since + self.limits.unschedulable).saturating_sub(self.now);
        if !no_more && left > 0 {
            if self.now >= self.room_wait.say_at {
                self.room_wait.say_at = self.now + SAY_MS;
                let samples =
                    waiting.iter().filter_map(|id| self.task(*id)).map(|task| u64::from(task.remaining.len()));
                let (samples, left) = (some(samples.sum::<u64>(), "sample"), lasting(left));
                let text = format!("no worker has room for {samples}: given up in {left} unless one joins that has");
                effects.push(Effect::Note { text });
            }
            return;
        }
        for id in waiting {
            let Some(task) = self.task(id) else { continue };
            let tried = some(task.failures.no_room_on.len() as u64, "worker");
            let message = format!("{} (no room on {tried})", task.failures.message);
            if self.failure_notes.is_new(&message) {
                effects.push(Effect::Note { text: format!("task {id} failed: {message}") });
            }
            self.transition(id, To::Failed { class: FailureClass::NoRoom, message });
        }
    }

    /// All pending tasks, where each of them lacks room in some worker's memory.
    pub(super) fn cramping(&self) -> Vec<&Task> {
        let is_all = self.queue.lacking_room().count() == self.queue.len();
        self.queue.lacking_room().filter(|_| is_all).filter_map(|id| self.task(id)).collect()
    }

    /// Returns whether a worker is there that may have room for a task's samples.
    fn may_have_room(&self, task: &Task) -> bool {
        let takes_tasks = |id: WorkerIx, worker: &Worker| !worker.is_draining() && !self.workers.is_last_choice(id);
        let mut others = self.workers.iter().filter(|(id, worker)| takes_tasks(*id, worker));
        others.any(|(id, worker)| self.could_run(worker, task) && self.may_try(id, task))
    }

    /// Returns whether a worker has not tried the samples of a task without success, nor too many others.
    pub(super) fn may_try(&self, id: WorkerIx, task: &Task) -> bool {
        let tried = &task.failures.no_room_on;
        tried.len() < MOST_TRIES && !tried.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::limits::Limits;
    use super::super::tests::{Bench, view, worker};
    use super::*;

    /// The latest grant of a worker comes back for want of room.
    fn has_no_room(bench: &mut Bench, who: u8) -> Vec<Effect> {
        let held =
            bench.grants.iter().rev().find(|(at, grant, ..)| *at == who && bench.core.is_live(&worker(who), grant));
        let Some((_, grant, ..)) = held.cloned() else { return Vec::new() };
        let (class, message) = (FailureClass::NoRoom, "not enough memory for 9 tokens".to_owned());
        bench.apply(Event::Failed { worker: worker(who), grant, class, message })
    }

    fn done_by(bench: &mut Bench, who: u8) -> usize {
        let all: Vec<usize> = (0..bench.grants.len()).filter(|&at| bench.grants[at].0 == who).collect();
        let before = bench.recorded.len();
        all.into_iter().for_each(|at| (0..100).for_each(|_| bench.work(at)));
        bench.recorded.len() - before
    }

    fn is_noted(effects: &[Effect], words: &str) -> bool {
        effects.iter().any(|effect| matches!(effect, Effect::Note { text } if text.contains(words)))
    }

    #[test]
    fn samples_without_room_wait_for_a_worker_that_comes_while_others_are_run() {
        let mut bench = Bench::new(Limits { split: false, ..Limits::default() }, vec![view(0, 0, 5), view(0, 5, 9)]);
        bench.attach(0, 0, 1);
        bench.work(0);
        let latest = bench.grants.remove(1);
        assert!(is_noted(&has_no_room(&mut bench, 0), "worker w0 has no room for samples of"));
        bench.grants.push(latest);
        bench.apply(Event::Tick);
        assert!(!bench.core.is_finished(), "the other task is still to be run");
        bench.attach(1, 0, 1);
        assert_eq!(done_by(&mut bench, 1), 4, "what had no room, less what was done of it");
        assert_eq!(done_by(&mut bench, 0), 4);
        assert!(bench.core.is_finished() && bench.core.failures().is_empty());
    }

    #[test]
    fn samples_that_no_worker_has_room_for_fail_once_nothing_else_is_left() {
        let mut bench = Bench::new(Limits { settles: 3_000, ..Limits::default() }, vec![view(0, 0, 5)]);
        bench.attach(0, 0, 1);
        bench.attach(1, 0, 1);
        for _ in 0..4 {
            has_no_room(&mut bench, 0);
            has_no_room(&mut bench, 1);
        }
        let told = bench.apply(Event::Tick);
        assert!(is_noted(&told, "no worker has room for 5 samples: given up in 10m 00s"), "{told:?}");
        bench.apply(Event::Supply(Supply::None));
        bench.now += 2_900;
        bench.apply(Event::Tick);
        assert!(!bench.core.is_finished(), "launchers may still say that they order one");
        bench.now += 100;
        let told = bench.apply(Event::Tick);
        assert!(is_noted(&told, "not enough memory for 9 tokens (no room on 2 workers)"), "{told:?}");
        let failures = bench.core.failures();
        assert_eq!(failures.iter().map(|(_, samples, _)| samples.len()).sum::<u32>(), 5, "{failures:?}");
    }

    #[test]
    fn a_worker_whose_node_fails_is_not_waited_for() {
        let limits = Limits { infrastructure: 1, others_may_come: false, ..Limits::default() };
        let mut bench = Bench::new(limits, vec![view(0, 0, 5), view(0, 5, 9)]);
        bench.attach(0, 0, 1);
        let grant = bench.grants[0].1;
        let (class, message) = (FailureClass::Infrastructure, "no device".to_owned());
        bench.apply(Event::Failed { worker: worker(0), grant, class, message });
        bench.attach(1, 0, 1);
        for _ in 0..4 {
            has_no_room(&mut bench, 1);
            has_no_room(&mut bench, 0);
            bench.now += 1_000;
            bench.apply(Event::Tick);
        }
        assert!(bench.core.is_finished(), "{:?}", bench.core.explain_job());
    }

    #[test]
    fn of_many_workers_that_are_alike_not_all_try() {
        let limits = Limits { split: false, others_may_come: false, ..Limits::default() };
        let mut bench = Bench::new(limits, vec![view(0, 0, 5)]);
        (0..30).for_each(|at| bench.attach(at, 0, 1));
        let mut tries = 0;
        while !bench.core.is_finished() && tries < 100 {
            let holder = (0..30).find(|&at| !has_no_room(&mut bench, at).is_empty());
            tries += usize::from(holder.is_some());
            bench.apply(Event::Tick);
        }
        assert_eq!(tries, MOST_TRIES);
    }
}
