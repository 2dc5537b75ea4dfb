//! Failures and their budgets: what is tried again, where, and how often.

use super::effect::Effect;
use super::event::FailureClass;
use super::state::Core;
use super::task::{Task, TaskState};
use super::worker::Worker;
use super::worker_table::WorkerIx;
use compass_common::ids::{GrantId, TaskId};

impl Core {
    /// A grant comes back undone.
    pub(super) fn hand_back(
        &mut self,
        id: WorkerIx,
        grant: GrantId,
        class: FailureClass,
        message: String,
        effects: &mut Vec<Effect>,
    ) {
        let model = self.task(grant.task).filter(|_| grant.epoch == self.epoch).map(|task| task.model);
        if let (FailureClass::Unable(kind), Some(model)) = (class, model) {
            if self.holds(id, &grant) {
                self.requeue(grant.task, id, class, message.clone(), effects);
            }
            return self.unable(id, model, kind, message, effects);
        }
        if !self.holds(id, &grant) {
            return;
        }
        if let Some(worker) = self.workers.get_mut(id).filter(|_| class == FailureClass::Infrastructure) {
            worker.infrastructure += 1;
        }
        self.refresh(id);
        self.requeue(grant.task, id, class, message.clone(), effects);
        if class == FailureClass::User
            && let Some(model) = model
        {
            // No worker can do better with this model: its other tasks fail with the same words, at once.
            for task in self.queue.of_model(model).collect::<Vec<_>>() {
                self.set_state(task, TaskState::Failed { class, message: message.clone() });
            }
        }
    }

    /// A task that was out at `worker` waits again, or its budget is spent.
    pub(super) fn requeue(
        &mut self,
        id: TaskId,
        worker: WorkerIx,
        class: FailureClass,
        message: String,
        effects: &mut Vec<Effect>,
    ) {
        let Some(task) = self.tasks.get_mut(id.0 as usize) else { return };
        let limits = &self.limits;
        let failures = &mut task.failures;
        let mut state = TaskState::Pending;
        let spent = match class {
            FailureClass::User | FailureClass::Deterministic => true,
            FailureClass::Preempted => false,
            FailureClass::Unable(_) => {
                task.first = true;
                false
            }
            FailureClass::Transient => {
                failures.transient += 1;
                if failures.message != message {
                    failures.message.clone_from(&message);
                    failures.workers.clear();
                }
                failures.workers.insert(worker);
                if failures.workers.len() > 1 {
                    state = TaskState::Quarantined { message: message.clone(), workers: failures.workers.clone() };
                }
                failures.transient > limits.retry
            }
            FailureClass::Infrastructure => {
                failures.infrastructure += 1;
                failures.infrastructure > limits.infrastructure
            }
            FailureClass::Lost => {
                failures.losses += 1;
                failures.losses > limits.losses
            }
        };
        failures.again = !matches!(class, FailureClass::Preempted | FailureClass::Unable(_));
        if spent && state == TaskState::Pending {
            state = TaskState::Failed { class, message: message.clone() };
        }
        if state != TaskState::Pending {
            // A model that cannot be loaded fails every task with the same words: they are said once.
            if self.failure_words.insert(message.clone()) {
                effects.push(Effect::Note { text: format!("task {id} failed: {message}") });
            }
        }
        self.set_state(id, state);
    }

    /// Whether the node of this worker has failed so often in a row that others are asked first.
    pub(super) fn is_last_choice(&self, id: WorkerIx) -> bool {
        let fails = |worker: &Worker| worker.infrastructure >= self.limits.infrastructure.max(1);
        let sound = |(other, worker): (WorkerIx, &Worker)| {
            other != id && worker.connection.is_some() && worker.credit > 0 && !fails(worker)
        };
        self.workers.get(id).is_some_and(fails) && self.workers.iter().any(sound)
    }

    /// Whether the task has failed on this worker and somebody else is there to try it.
    pub(super) fn is_for_another(&self, id: WorkerIx, task: &Task) -> bool {
        let suits = |(other, worker): (WorkerIx, &Worker)| {
            other != id
                && worker.connection.is_some()
                && worker.credit > 0
                && !worker.is_going()
                && self.can_run(worker, task)
        };
        task.failures.workers.contains(&id) && self.workers.iter().any(suits)
    }
}
