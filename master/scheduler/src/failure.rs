//! Failures and their budgets: what is tried again, where, and how often.

use super::effect::Effect;
use super::event::FailureClass;
use super::limits::Limits;
use super::state::Core;
use super::task::{Failures, Task};
use super::task_table::To;
use super::worker::Worker;
use super::worker_ids::WorkerIx;
use compass_types::ids::{GrantId, TaskId};

impl Failures {
    /// Counts a failure on a worker; what becomes of the task.
    fn count(&mut self, worker: WorkerIx, class: FailureClass, message: &str, limits: &Limits) -> To {
        let mut to = To::Pending;
        let spent = match class {
            FailureClass::User | FailureClass::WeightsGone | FailureClass::Deterministic => true,
            FailureClass::Preempted | FailureClass::Unable(_) => false,
            FailureClass::NoRoom => {
                self.message = message.to_owned();
                self.no_room_on.insert(worker);
                false
            }
            FailureClass::Transient => {
                self.transient += 1;
                if self.message != message {
                    self.message = message.to_owned();
                    self.workers.clear();
                }
                self.workers.insert(worker);
                if self.workers.len() > 1 {
                    to = To::Quarantined { message: message.to_owned(), workers: self.workers.clone() };
                }
                self.transient > limits.retry
            }
            FailureClass::Infrastructure => {
                self.infrastructure += 1;
                self.infrastructure > limits.infrastructure
            }
            FailureClass::Lost => {
                self.losses += 1;
                self.losses > limits.losses
            }
        };
        self.again = !matches!(class, FailureClass::Preempted | FailureClass::Unable(_));
        match to {
            To::Pending if spent => To::Failed { class, message: message.to_owned() },
            to => to,
        }
    }
}

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
        if class == FailureClass::Infrastructure {
            self.workers.change(id, |worker| worker.infrastructure += 1);
        }
        self.requeue(grant.task, id, class, message.clone(), effects);
        if class == FailureClass::NoRoom {
            self.say_no_room(grant.task, id, &message, effects);
        }
        if class == FailureClass::User
            && let Some(model) = model
        {
            // No worker can do better with this model: its other tasks fail with the same words, at once.
            for task in self.queue.of_model(model).collect::<Vec<_>>() {
                self.transition(task, To::Failed { class, message: message.clone() });
            }
        }
    }

    /// Requeues a task that was out at `worker`, or fails it if its budget is spent.
    pub(super) fn requeue(
        &mut self,
        id: TaskId,
        worker: WorkerIx,
        class: FailureClass,
        message: String,
        effects: &mut Vec<Effect>,
    ) {
        if matches!(class, FailureClass::Unable(_)) {
            self.tasks.put_first(id);
        }
        let limits = &self.limits;
        let next = self.tasks.with_failures(id, |failures| failures.count(worker, class, &message, limits));
        let Some(to) = next else { return };
        // A model that cannot be loaded fails every task with the same words: they are said once.
        if to != To::Pending && self.failure_notes.is_new(&message) {
            effects.push(Effect::Note { text: format!("task {id} failed: {message}") });
        }
        self.transition(id, to);
    }

    /// Returns true if the task has failed on this worker, or the worker's node fails, and another worker is there that will take it:
    /// one that would not leaves it waiting for nothing.
    pub(super) fn is_for_another(&self, id: WorkerIx, task: &Task) -> bool {
        let takes_it = |(other, worker): (WorkerIx, &Worker)| {
            other != id
                && worker.connection.is_some()
                && worker.credit > 0
                && !worker.is_draining()
                && !self.workers.is_last_choice(other)
                && !task.has_failed_on(other)
                && self.can_run(worker, task)
                && self.may_try(other, task)
        };
        let is_left = task.has_failed_on(id) || self.workers.is_last_choice(id);
        is_left && !self.standstill.is_over(self.now) && self.workers.iter().any(takes_it)
    }
}
