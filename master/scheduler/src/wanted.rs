//! Demand of the job, for the broker that shares workers out among several jobs; and the way of a worker out of one.

use super::demand::{Attendance, PoolChoice};
use super::effect::{Effect, Message};
use super::state::Core;
use super::task::{Requires, Task};
use super::words::{are, some};
use super::worker::{Drain, Worker};
use super::worker_ids::WorkerIx;
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;

/// A worker that holds tasks and has sent no results for so long is named.
const SILENT_MS: u64 = 30_000;

/// Requirement of some of the job on a worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needed {
    pub requires: Requires,
    /// The pools where the model loads.
    pub pools: PoolChoice,
}

impl From<Requires> for Needed {
    fn from(requires: Requires) -> Self {
        Self { requires, pools: None }
    }
}

/// Slots that the job could keep busy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotDemand {
    /// Tasks that no worker has.
    pub waiting: BTreeMap<Needed, u32>,
    /// Slots that could be busy with what is neither recorded nor given up.
    pub usable: BTreeMap<Needed, u32>,
    /// Number of tasks that each worker holds, workers whose connection is down among them.
    pub held: BTreeMap<WorkerId, u32>,
    /// Their slots.
    pub slots: u32,
    /// Open tasks by the pools where they can be done.
    pub open: BTreeMap<PoolChoice, u32>,
    /// Workers whose stream is up.
    pub attendance: BTreeMap<WorkerId, Attendance>,
}

/// Shortage of a running job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// No task waits for these idle slots; why there are not more.
    Tasks { idle: u32, why: &'static str },
    /// Tasks that no connected worker could take; why the first of them, and the pools of which it needs a worker.
    Workers { waiting: u32, why: String, pools: Vec<String> },
    /// Tasks that wait until one of these slots is free.
    Slots { waiting: u32, slots: u32 },
}

impl Core {
    /// Returns the demand of the job now.
    pub fn wanted(&self) -> SlotDemand {
        let mut wanted = SlotDemand { open: self.demand(), attendance: self.attendance(), ..SlotDemand::default() };
        for (model, tasks) in self.queue.models() {
            let tasks = tasks.min(self.shares_left(model));
            if let Some(first) = self.queue.of_model(model).next().and_then(|id| self.task(id)) {
                *wanted.waiting.entry(self.needed(first)).or_default() += tasks;
            }
        }
        wanted.usable.clone_from(&wanted.waiting);
        for (id, worker) in self.workers.iter() {
            wanted.held.insert(self.workers.name(id).clone(), worker.held.len() as u32);
            wanted.slots = wanted.slots.saturating_add(worker.slots);
            for task in worker.held.iter().filter_map(|id| self.task(*id)) {
                let usable = wanted.usable.entry(self.needed(task)).or_default();
                let is_shared = self.limits.split && !self.limits.most_workers.contains_key(&task.model);
                *usable = usable.saturating_add(if is_shared { task.remaining.len() } else { 1 });
            }
        }
        wanted
    }

    fn needed(&self, task: &Task) -> Needed {
        Needed { requires: task.requires, pools: self.limits.places.get(&task.model).cloned() }
    }

    /// A worker is wanted elsewhere: it gets nothing more, hands back what it has not begun, and goes when everything of it
    /// is recorded.
    pub(super) fn release(&mut self, id: WorkerIx, effects: &mut Vec<Effect>) {
        if self.workers.get(id).is_none_or(Worker::is_draining) {
            return;
        }
        self.workers.change(id, |worker| worker.drain = Drain::Requested);
        self.send(id, Message::Release, self.last_seq, effects);
    }

    /// Explains why nothing more of the job is running, in words; for people.
    pub fn explain_job(&self) -> Vec<String> {
        let (slots, up) = self.connected();
        let (open, workers) = (self.tasks.open(), up.len() as u64);
        let mut lines = vec![format!(
            "{} {} open, {} granted; {} with {} {} connected",
            some(open, "task"),
            are(open),
            self.tasks.granted(),
            some(workers, "worker"),
            some(slots, "slot"),
            are(workers)
        )];
        lines.extend(self.explain_waits());
        let failed = self.tasks.failed();
        if failed > 0 {
            lines.push(format!("{} failed", some(failed, "task")));
        }
        lines
    }

    /// Slots of the connected workers, and those.
    fn connected(&self) -> (u32, Vec<&Worker>) {
        let up: Vec<_> = self.workers.values().filter(|worker| worker.connection.is_some()).collect();
        (up.iter().map(|worker| worker.slots).sum(), up)
    }

    /// Workers that send nothing, and why the pending tasks of each model are pending, in words; for people.
    pub fn explain_waits(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.silent().collect();
        for (model, waiting) in self.queue.models() {
            let first = self.queue.of_model(model).next();
            if let Some(why) = first.and_then(|id| self.explain_task(id)) {
                let (model, tasks) = (self.labels.model(model), some(waiting, "task"));
                let first = if waiting == 1 { "" } else { ", the first of them" };
                lines.push(format!("{model}: {tasks} pending{first}: {why}"));
            }
        }
        let recovering = self.recovering.iter().next().and_then(|id| self.explain_task(id));
        lines.extend(recovering.map(|why| {
            let kept = self.recovering.len() as u64;
            format!("{} {} kept for earlier holders: {why}", some(kept, "task"), are(kept))
        }));
        lines
    }

    /// Workers that hold tasks and have sent no results for long.
    fn silent(&self) -> impl Iterator<Item = String> {
        let holding = self.workers.iter().filter(|(_, worker)| !worker.held.is_empty());
        holding.filter_map(|(id, worker)| {
            let ms = self.now.saturating_sub(self.deadlines.last_progress(worker));
            (ms >= SILENT_MS).then(|| self.no_results(id, worker.held.len(), ms))
        })
    }

    /// Tells in words that a worker sends no results, and what may be the matter.
    pub(super) fn no_results(&self, worker: WorkerIx, tasks: usize, ms: u64) -> String {
        format!(
            "worker {} holds {} and has sent no results for {} s: it may be loading a model, or an engine of it hangs; its \
             log tells",
            self.workers.name(worker),
            some(tasks as u64, "task"),
            ms / 1000
        )
    }

    /// Returns what is short: tasks, or workers and their slots; `None` where nothing is open, or where every task has a
    /// slot.
    pub fn shortage(&self) -> Option<Shortage> {
        let (slots, up) = self.connected();
        let waiting: u32 = self.queue.models().map(|(_, tasks)| tasks).sum();
        let idle: u32 = up.iter().map(|worker| worker.slots.saturating_sub(worker.held.len() as u32)).sum();
        if self.tasks.open() == 0 {
            return None;
        }
        if waiting == 0 {
            let is_ahead = up.iter().any(|worker| worker.held.len() as u32 > worker.slots);
            let why = match self.limits.split {
                _ if is_ahead => "busy workers hold some ahead, which move once they are asked for",
                true => "what is left is too little to be cut further",
                false => "the partitioner makes no smaller ones (`balanced`, or a smaller `max_task_size`, would)",
            };
            return (idle > 0).then_some(Shortage::Tasks { idle, why });
        }
        for (model, waiting) in self.queue.models() {
            let first = self.queue.of_model(model).next().and_then(|id| self.task(id));
            let Some(first) = first else { continue };
            if let Some(why) = self.why_no_worker_fits(first) {
                let pools = self.pools_without_worker(first).into_iter().flatten().cloned().collect();
                return Some(Shortage::Workers { waiting, why, pools });
            }
        }
        (idle == 0).then_some(Shortage::Slots { waiting, slots })
    }
}
