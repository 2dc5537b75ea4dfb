//! Tasks that an older leader granted, kept for the time of a lease for their holders, which may come back.
//!
//! Invariant: exactly the tasks in [`TaskState::Recovering`] are kept.

use super::task::TaskState;
use super::task_table::TaskTable;
use compass_types::ids::TaskId;
use std::collections::BTreeSet;

/// Kept tasks, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovering {
    tasks: BTreeSet<TaskId>,
    pub(super) until: u64,
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

    /// Reports what is wrong with the kept tasks, in words, by the rule of [`super::invariants`] that it breaks.
    pub(super) fn check(&self, tasks: &TaskTable, fail: &mut impl FnMut(&'static str, String)) {
        for (id, task) in tasks.iter() {
            if matches!(task.state, TaskState::Recovering { .. }) != self.tasks.contains(&id) {
                fail(super::invariants::P1, format!("task {id} is {:?} and not where such tasks are", task.state));
            }
        }
    }
}
