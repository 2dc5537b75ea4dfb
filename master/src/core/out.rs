//! Now and then all that is out is recorded at once, so that the log of leases stays as short as what it is about.

use super::effect::{Effect, Holder, Record};
use super::state::Core;
use super::task::TaskState;
use compass_common::ids::TaskId;

/// So many times as many attempts as are out are worth such a record.
const TIMES: u64 = 4;

impl Core {
    pub(super) fn record_what_is_out(&mut self, effects: &mut Vec<Effect>) {
        let out = u64::from(self.tasks.granted()) + self.recovering.len() as u64;
        // What is over needs no shorter log, and what was assigned just before a cancellation is on its way to be told.
        if self.tasks.open() == 0 || self.attempts_since < (TIMES * out).max(u64::from(self.limits.fewest_attempts)) {
            return;
        }
        self.attempts_since = 0;
        let held = self.workers.values().flat_map(|worker| worker.held.iter().copied());
        let holders = held.chain(self.recovering.iter()).filter_map(|id| self.holder_of(id)).collect();
        self.persist(Record::Out { holders }, effects);
    }

    /// Who holds a task, or may come back with it.
    fn holder_of(&self, id: TaskId) -> Option<Holder> {
        let task = self.task(id)?;
        let worker = match &task.state {
            TaskState::Granted { worker, .. } => self.workers.name(*worker),
            TaskState::Recovering { worker } => worker,
            _ => return None,
        };
        let (worker, samples) = (worker.clone(), task.remaining.clone());
        Some(Holder { worker, unit: task.unit, attempt: task.attempt, samples })
    }
}
