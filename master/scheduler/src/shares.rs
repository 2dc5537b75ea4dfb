//! Models that only so many workers may be at: what they are asked at has one budget, of which each worker has a share. And
//! models of which nothing more is wanted.

use super::effect::{Effect, Message};
use super::event::FailureClass;
use super::state::Core;
use super::task_table::To;
use super::worker::Worker;
use compass_types::ids::ModelId;

impl Core {
    /// Returns whether the worker has a share of the model's budget, or may have one that no other has.
    pub(super) fn has_share(&self, worker: &Worker, model: ModelId) -> bool {
        !self.limits.most_workers.contains_key(&model) || self.is_at(worker, model) || self.shares_left(model) > 0
    }

    /// Returns the number of further workers that may be at the model.
    pub(super) fn shares_left(&self, model: ModelId) -> u32 {
        let Some(most) = self.limits.most_workers.get(&model) else { return u32::MAX };
        // A worker whose connection is down goes on with what it holds until its lease is over.
        let at = self.workers.values().filter(|worker| self.is_at(worker, model)).count();
        most.saturating_sub(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn is_at(&self, worker: &Worker, model: ModelId) -> bool {
        worker.held.iter().any(|id| self.task(*id).is_some_and(|task| task.model == model))
    }

    /// Nothing more of a model is wanted: workers hand back what they have not begun.
    pub(super) fn stop(&mut self, model: ModelId, reason: String, effects: &mut Vec<Effect>) {
        if self.stopped.contains_key(&model) {
            return;
        }
        effects.push(Effect::Note { text: format!("{} is stopped: {reason}", self.labels.model(model)) });
        self.stopped.insert(model, reason);
        let open = self.tasks.iter().filter(|(_, task)| task.model == model && task.is_open()).map(|(id, _)| id);
        for id in open.collect::<Vec<_>>() {
            let Some((worker, grant)) = self.holder(id) else { continue };
            let samples = self.task(id).map(|task| task.remaining.clone());
            let message = Message::Revoke { grant, samples, reason: "its model is stopped", only_unbegun: false };
            self.send(worker, message, self.last_seq, effects);
        }
    }

    /// Fails what waits of models of which nothing more is wanted.
    pub(super) fn fail_stopped(&mut self) {
        if self.stopped.is_empty() || self.queue.is_empty() {
            return;
        }
        for (model, message) in self.stopped.clone() {
            for task in self.queue.of_model(model).collect::<Vec<_>>() {
                self.transition(task, To::Failed { class: FailureClass::User, message: message.clone() });
            }
        }
    }
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
