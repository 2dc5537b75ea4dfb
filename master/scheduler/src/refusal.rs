//! Treatment of tasks that execute programs when a worker has no sandbox: the reason is said, and no task waits for what
//! will not come.

use super::effect::Effect;
use super::event::{FailureClass, SandboxState};
use super::state::Core;
use super::task::Requires;
use super::task_table::To;
use super::worker_ids::WorkerIx;
use compass_types::ids::TaskId;

impl Core {
    /// Looks at the sandbox of a worker that has just attached. Where no other workers can come and none of those that
    /// are here has one, the tasks that need it fail with the worker's reason.
    pub(super) fn refuse_programs(&mut self, id: WorkerIx, effects: &mut Vec<Effect>) {
        let reason = match self.workers.get(id).map(|worker| &worker.sandbox) {
            None | Some(SandboxState::Works) => return,
            Some(SandboxState::Unknown) => "it was told not to look for a sandbox (--no-sandbox)".to_owned(),
            Some(SandboxState::Refused { reason }) => reason.clone(),
        };
        if self.tasks.open_by(Requires::Sandbox) == 0 {
            return;
        }
        let waiting: Vec<TaskId> = self.queue.iter().filter(|&id| self.needs_sandbox(id)).collect();
        if waiting.is_empty() {
            return;
        }
        let text = format!("worker {} refuses to run programs: {reason}", self.workers.name(id));
        effects.push(Effect::Note { text });
        let someone_can = self.workers.values().any(|worker| worker.suits(Requires::Sandbox));
        if someone_can || self.limits.others_may_come {
            return;
        }
        for task in waiting {
            let message = format!("refused: {reason}");
            self.transition(task, To::Failed { class: FailureClass::User, message });
        }
    }

    fn needs_sandbox(&self, id: TaskId) -> bool {
        self.task(id).is_some_and(|task| task.requires == Requires::Sandbox)
    }
}
