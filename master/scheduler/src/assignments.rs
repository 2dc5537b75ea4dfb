//! All that is assigned, recorded at once where enough was recorded since this was done last.
//!
//! Invariant: a checkpoint lists exactly the tasks that are granted or kept for workers of an older leader.

use super::effect::{Effect, Holder, Record};
use super::state::Core;
use super::task::TaskState;
use compass_types::ids::TaskId;

/// So many times as many attempts as are out are worth a checkpoint.
const TIMES: u64 = 4;

impl Core {
    /// Records all that is assigned, where enough was recorded since this was done last.
    pub(super) fn checkpoint_assignments(&mut self, effects: &mut Vec<Effect>) {
        let out = u64::from(self.tasks.granted()) + self.recovering.len() as u64;
        // No checkpoint once finished: grants made just before a cancellation may still be in flight.
        if self.tasks.open() == 0 || !self.checkpoint.is_due((TIMES * out).max(u64::from(self.limits.fewest_attempts)))
        {
            return;
        }
        let held = self.workers.values().flat_map(|worker| worker.held.iter().copied());
        let holders = held.chain(self.recovering.iter()).filter_map(|id| self.holder_of(id)).collect();
        self.persist(Record::Out { holders }, effects);
    }

    /// Returns the holder of a task, or the worker that may come back with it.
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
