//! The tasks of a job: their states, which samples belong to which, and what is counted of them.
//!
//! Invariants: [`TaskTable::transition`] is the only way from state to state, and the counts follow it; an open task has
//! samples left; each of them belongs to that task in the index; attempts grow. The [`Change`] that a transition makes is
//! for the other owners to follow: the queue, the workers' holdings, the tasks that are kept for workers of an older leader.

use super::event::FailureClass;
use super::hold::Hold;
use super::sample_index::SampleIndex;
use super::task::{Failures, Requires, Task, TaskOwner, TaskState, TaskView};
use super::worker_ids::WorkerIx;
use compass_types::ids::{Attempt, ModelId, TaskId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// State that a task is to pass into, as in [`TaskState`]; a grant begins with nothing asked back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum To {
    Pending,
    Recovering { worker: WorkerId },
    Granted { worker: WorkerIx },
    Done,
    Failed { class: FailureClass, message: String },
    Quarantined { message: String, workers: BTreeSet<WorkerIx> },
}

/// Consequence of a transition for the owners beside the table.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) id: TaskId,
    pub(super) from: TaskOwner,
    pub(super) to: TaskOwner,
}

/// Tasks by number.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskTable {
    tasks: Vec<Task>,
    samples: SampleIndex,
    open: u32,
    granted: u32,
    failed: u32,
    open_by: [u32; Requires::KINDS],
    open_cost: BTreeMap<ModelId, u64>,
}

impl TaskTable {
    pub(super) fn with_capacity(tasks: usize) -> Self {
        Self { tasks: Vec::with_capacity(tasks), ..Self::default() }
    }

    /// Adds a task; pending, unless it has no samples.
    pub(super) fn add_view(&mut self, view: TaskView) -> Option<Change> {
        let task = Task {
            unit: view.unit,
            model: view.model,
            requires: view.requires,
            sample_cost: view.sample_cost.max(1),
            shared_cost: view.shared_cost,
            remaining: view.samples,
            attempt: view.attempt,
            state: TaskState::Done,
            failures: Failures::default(),
            first: false,
        };
        self.add(task).1
    }

    fn add(&mut self, task: Task) -> (TaskId, Option<Change>) {
        let id = TaskId(self.tasks.len() as u32);
        self.samples.assign(task.unit, &task.remaining, id);
        let is_empty = task.remaining.is_empty();
        self.tasks.push(Task { state: TaskState::Done, ..task });
        (id, if is_empty { None } else { self.transition(id, To::Pending) })
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.0 as usize)
    }

    fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id.0 as usize)
    }

    /// All tasks, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().enumerate().map(|(at, task)| (TaskId(at as u32), task))
    }

    /// Tasks that are neither done nor failed.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// Open tasks with a requirement.
    pub(super) fn open_by(&self, requires: Requires) -> u32 {
        self.open_by[requires as usize]
    }

    /// Returns the cost that is left of a model's open tasks.
    pub(super) fn open_cost(&self, model: ModelId) -> u64 {
        self.open_cost.get(&model).copied().unwrap_or(0)
    }

    pub(super) fn granted(&self) -> u32 {
        self.granted
    }

    /// Tasks that have failed or are in quarantine.
    pub(super) fn failed(&self) -> u32 {
        self.failed
    }

    /// The task that a sample belongs to.
    pub(super) fn of_sample(&self, unit: UnitId, index: u32) -> Option<TaskId> {
        self.samples.of(unit, index)
    }

    /// The task that a sample belongs to, with the run of samples around it that belong to the same one.
    pub(super) fn run_of_sample(&self, unit: UnitId, index: u32) -> Option<(Range<u32>, TaskId)> {
        self.samples.run_of(unit, index)
    }

    /// Takes a task into another state.
    pub(super) fn transition(&mut self, id: TaskId, to: To) -> Option<Change> {
        let task = self.tasks.get_mut(id.0 as usize)?;
        let (was_open, had_failed, from) = (task.is_open(), task.has_failed(), task.place());
        task.state = match to {
            To::Pending => TaskState::Pending,
            To::Recovering { worker } => TaskState::Recovering { worker },
            To::Granted { worker } => TaskState::Granted { worker, hold: Hold::default() },
            To::Done => TaskState::Done,
            To::Failed { class, message } => TaskState::Failed { class, message },
            To::Quarantined { message, workers } => TaskState::Quarantined { message, workers },
        };
        let (is_open, has_failed, to) = (task.is_open(), task.has_failed(), task.place());
        let (model, cost, requires) = (task.model, task.cost(), task.requires);
        if is_open != was_open {
            let open = self.open_cost.entry(model).or_default();
            *open = if is_open { open.saturating_add(cost) } else { open.saturating_sub(cost) };
        }
        let count = |all: &mut u32, now: bool, before: bool| *all = *all + u32::from(now) - u32::from(before);
        let is_out = |place: TaskOwner| matches!(place, TaskOwner::Worker(_));
        count(&mut self.open_by[requires as usize], is_open, was_open);
        count(&mut self.open, is_open, was_open);
        count(&mut self.failed, has_failed, had_failed);
        count(&mut self.granted, is_out(to), is_out(from));
        Some(Change { id, from, to })
    }

    /// Begins the next attempt of a task, which is about to be granted; the attempt, its unit, model and samples.
    pub(super) fn next_attempt(&mut self, id: TaskId) -> Option<(Attempt, UnitId, ModelId, IntervalSet)> {
        let task = self.get_mut(id)?;
        task.attempt = Attempt(task.attempt.0.saturating_add(1));
        task.failures.again = false;
        Some((task.attempt, task.unit, task.model, task.remaining.clone()))
    }

    /// Notes that the holder of a task is asked for so many samples of it; with `whole` for all, if none has begun.
    pub(super) fn ask(&mut self, id: TaskId, samples: u32, whole: bool) {
        if let Some(TaskState::Granted { hold, .. }) = self.get_mut(id).map(|task| &mut task.state) {
            *hold = hold.ask(samples, whole);
        }
    }

    /// Notes what the holder of a task has answered; whether it was asked.
    pub(super) fn answered(&mut self, id: TaskId, has_returned: bool) -> bool {
        match self.get_mut(id).map(|task| &mut task.state) {
            Some(TaskState::Granted { hold, .. }) => {
                let was_asked = hold.asked() > 0;
                *hold = hold.answered(has_returned);
                was_asked
            }
            _ => false,
        }
    }

    /// A sample of a task is recorded; the change if it was the last.
    pub(super) fn settle(&mut self, id: TaskId, index: u32) -> Option<Change> {
        let task = self.get_mut(id)?;
        task.remaining.remove(index);
        task.failures.losses = 0;
        let (model, is_empty) = (task.model, task.remaining.is_empty());
        // What has failed is no longer counted as open.
        let gone = if task.is_open() { task.sample_cost } else { 0 };
        self.pay(model, gone);
        if is_empty { self.transition(id, To::Done) } else { None }
    }

    /// So much less of a model is left to pay.
    fn pay(&mut self, model: ModelId, cost: u64) {
        if let Some(open) = self.open_cost.get_mut(&model) {
            *open = open.saturating_sub(cost);
        }
    }

    /// A task of its own for those of the samples that are open and whose task is `free`, with the changes that this makes;
    /// `None` when there are none.
    pub(super) fn carve(
        &mut self,
        unit: UnitId,
        samples: &IntervalSet,
        free: impl Fn(TaskId, &Task) -> bool,
    ) -> Option<(TaskId, Vec<Change>)> {
        let mut found: Vec<(TaskId, IntervalSet)> = Vec::new();
        for id in self.samples.touched(unit, samples) {
            let Some(task) = self.get(id).filter(|task| task.is_open() && free(id, task)) else { continue };
            let part = task.remaining.minus(&task.remaining.minus(samples));
            if !part.is_empty() {
                found.push((id, part));
            }
        }
        let (first, of_first) = found.first()?;
        if found.len() == 1 && self.get(*first).is_some_and(|task| task.remaining == *of_first) {
            return Some((*first, Vec::new()));
        }
        let mut cut = self.get(*first)?.clone();
        // Where there was no room for one of them, there is none for what it is part of.
        let failures = found.iter().filter_map(|(id, _)| self.get(*id)).filter(|task| task.lacks_room());
        cut.failures = failures.fold(Failures::default(), |mut all, task| {
            all.no_room_on.extend(&task.failures.no_room_on);
            all.message.clone_from(&task.failures.message);
            all
        });
        cut.attempt = found.iter().filter_map(|(id, _)| Some(self.get(*id)?.attempt)).max().unwrap_or_default();
        cut.remaining = IntervalSet::from_pairs(found.iter().flat_map(|(_, part)| part.pairs().iter().copied()));
        let mut changes: Vec<Change> = found.iter().filter_map(|(id, part)| self.shrink(*id, part)).collect();
        let (id, change) = self.add(cut);
        changes.extend(change);
        Some((id, changes))
    }

    /// Takes samples out of a task; the change if they were all.
    fn shrink(&mut self, id: TaskId, part: &IntervalSet) -> Option<Change> {
        let task = self.get_mut(id)?;
        task.remaining = task.remaining.minus(part);
        let (model, gone) = (task.model, task.sample_cost.saturating_mul(u64::from(part.len())));
        let is_empty = task.remaining.is_empty();
        self.pay(model, gone);
        if is_empty { self.transition(id, To::Done) } else { None }
    }

    /// Changes what is remembered of the failures of a task.
    pub(super) fn with_failures<T>(&mut self, id: TaskId, change: impl FnOnce(&mut Failures) -> T) -> Option<T> {
        Some(change(&mut self.get_mut(id)?.failures))
    }

    /// Lets a task that is not pending be granted before others from now on.
    pub(super) fn put_first(&mut self, id: TaskId) {
        if let Some(task) = self.get_mut(id).filter(|task| task.state != TaskState::Pending) {
            task.first = true;
        }
    }

    /// Reports what is wrong with the tasks, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, fail: &mut impl FnMut(&'static str, String)) {
        use super::invariants::{G1, P1};
        let (mut open, mut granted, mut failed) = (0, 0, 0);
        let mut open_cost: BTreeMap<ModelId, u64> = BTreeMap::new();
        let mut open_by = [0; Requires::KINDS];
        for (id, task) in self.iter() {
            if task.is_open() {
                open += 1;
                open_by[task.requires as usize] += 1;
                *open_cost.entry(task.model).or_default() += task.cost();
                if task.remaining.is_empty() {
                    fail(P1, format!("task {id} is {:?} with nothing left to do", task.state));
                }
            }
            granted += u32::from(task.hold().is_some());
            failed += u32::from(task.has_failed());
            for &(first, end) in task.remaining.pairs() {
                if let Some(index) = (first..end).find(|&index| self.of_sample(task.unit, index) != Some(id)) {
                    fail(
                        G1,
                        format!("sample {index} of unit {} is in task {id}, to which it does not belong", task.unit),
                    );
                }
            }
        }
        if (open, granted) != (self.open, self.granted) {
            fail(G1, format!("{granted} granted, {open} open; counted {} and {}", self.granted, self.open));
        }
        if failed != self.failed || open_by != self.open_by {
            fail(
                P1,
                format!("{failed} tasks failed, counted {}; open {open_by:?}, counted {:?}", self.failed, self.open_by),
            );
        }
        for (model, &counted) in &self.open_cost {
            let open = open_cost.get(model).copied().unwrap_or(0);
            if open != counted {
                fail(P1, format!("{open} is left to pay of model {model}, counted {counted}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tasks: &TaskTable) -> Vec<String> {
        let mut found = Vec::new();
        tasks.check(&mut |id, what| found.push(format!("{id}: {what}")));
        found
    }

    #[test]
    fn counts_follow_every_transition() {
        let samples = IntervalSet::range(0, 10);
        let (unit, attempt, requires) = (UnitId(3), Attempt(0), Requires::Engine);
        let mut tasks = TaskTable::default();
        let view = TaskView { unit, model: ModelId(1), requires, samples, attempt, sample_cost: 2, shared_cost: 0 };
        let change = tasks.add_view(view).unwrap();
        assert_eq!((change.from, change.to), (TaskOwner::Closed, TaskOwner::Queue));
        let (id, holder) = (change.id, WorkerIx(7));
        let granted = tasks.transition(id, To::Granted { worker: holder });
        assert_eq!(granted, Some(Change { id, from: TaskOwner::Queue, to: TaskOwner::Worker(holder) }));
        assert_eq!(
            (tasks.open(), tasks.granted(), tasks.open_by(requires), tasks.open_cost(ModelId(1))),
            (1, 1, 1, 20)
        );
        tasks.ask(id, 4, false);
        assert!(tasks.answered(id, false) && !tasks.answered(id, true), "asked once");
        assert_eq!(tasks.settle(id, 0), None);
        let (half, changes) = tasks.carve(unit, &IntervalSet::range(5, 10), |_, _| true).unwrap();
        assert_eq!((half, changes.len(), tasks.of_sample(unit, 6)), (TaskId(1), 1, Some(half)));
        assert_eq!((tasks.open_cost(ModelId(1)), check(&tasks)), (18, Vec::new()));
        let class = FailureClass::User;
        let _ = tasks.transition(half, To::Failed { class, message: "no weights".into() });
        assert_eq!((tasks.open(), tasks.failed(), tasks.open_cost(ModelId(1))), (1, 1, 8));
        (1..4).for_each(|index| assert_eq!(tasks.settle(id, index), None));
        assert_eq!(tasks.settle(id, 4).map(|change| change.to), Some(TaskOwner::Closed));
        assert_eq!((tasks.open(), tasks.granted(), check(&tasks)), (0, 0, Vec::new()));
    }
}
