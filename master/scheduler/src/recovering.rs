//! Tasks that an older leader granted, kept for the time of a lease for their holders, which may come back.
//!
//! Invariant: exactly the tasks in [`super::task::TaskState::Recovering`] are kept.

use super::state::Core;
use super::task::{Former, TaskState};
use super::task_table::{TaskTable, To};
use compass_types::ids::{TaskId, WorkerId};
use std::collections::BTreeSet;

/// Kept tasks, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovering {
    tasks: BTreeSet<TaskId>,
    until: u64,
}

impl Recovering {
    pub(super) fn insert(&mut self, id: TaskId) {
        self.tasks.insert(id);
    }

    pub(super) fn remove(&mut self, id: TaskId) {
        self.tasks.remove(&id);
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks.iter().copied()
    }

    /// Milliseconds until the tasks go to any worker.
    pub(super) fn left(&self, now: u64) -> u64 {
        self.until.saturating_sub(now)
    }

    /// What is wrong with the kept tasks, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, tasks: &TaskTable, fail: &mut impl FnMut(&'static str, String)) {
        for (id, task) in tasks.iter() {
            if matches!(task.state, TaskState::Recovering { .. }) != self.tasks.contains(&id) {
                fail(super::invariants::P1, format!("task {id} is {:?} and not where such tasks are", task.state));
            }
        }
    }
}

impl Core {
    /// Keeps from all other workers, for the time of a lease, what an older leader granted: its holder may come back. The
    /// latest grant of a sample counts, so `former` goes from the latest to the oldest.
    pub fn recover(&mut self, now: u64, former: &[Former]) {
        self.recovering.until = now + self.limits.lease_ttl;
        for former in former {
            if let Some(task) = self.carve(former.unit, &former.samples, |_, task| task.state == TaskState::Pending) {
                self.transition(task, To::Recovering { worker: former.worker.clone() });
            }
        }
    }

    /// Tasks that are kept for a worker.
    pub(super) fn kept_for(&self, name: &WorkerId) -> Vec<TaskId> {
        let is_kept = |id: &TaskId| matches!(self.tasks.get(*id).map(|task| &task.state), Some(TaskState::Recovering { worker }) if worker == name);
        self.recovering.iter().filter(is_kept).collect()
    }

    /// Requeues what was kept for a worker that will not come back.
    pub(super) fn recover_from(&mut self, name: &WorkerId) {
        for task in self.kept_for(name) {
            self.transition(task, To::Pending);
        }
    }

    /// Requeues what is kept once the time for it is over.
    pub(super) fn end_recovery(&mut self) {
        if self.now >= self.recovering.until {
            for task in self.recovering.iter().collect::<Vec<_>>() {
                self.transition(task, To::Pending);
            }
        }
    }
}
