//! Grants of an older leader: kept for their holders for the time of a lease, then for any worker.

use super::state::Core;
use super::task::{Former, TaskState};
use super::task_table::To;
use compass_types::ids::{TaskId, WorkerId};

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
