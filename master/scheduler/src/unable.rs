//! Workers that cannot load a model get no more tasks of it, and a model that no worker can load fails with reasons.
//!
//! Tasks that come back from a barred worker cost no retry and are granted next. What is known of bars is in
//! [`super::bars`].

use super::bars::{BarTimeouts, Barred, Prospect};
use super::effect::{Effect, Message};
use super::event::FailureClass;
use super::state::Core;
use super::task_table::To;
use super::words::{lasting, some};
use super::worker_ids::WorkerIx;
use compass_plan::engine::UnableKind;
use compass_types::ids::{ModelId, TaskId};

impl Core {
    /// Bars a worker from a model that it cannot load, and asks it for the tasks of it that it holds.
    pub(super) fn unable(
        &mut self,
        id: WorkerIx,
        model: ModelId,
        kind: UnableKind,
        text: String,
        effects: &mut Vec<Effect>,
    ) {
        let is_new = self.workers.change(id, |worker| {
            worker.by_host.remove(&model);
            worker.barred.insert(model)
        });
        let Some(is_new) = is_new else { return };
        let name = self.workers.name(id).clone();
        if !is_new && self.bars.has_told(&name, model) {
            return;
        }
        self.workers.change(id, |worker| worker.models.unload(model));
        let Some(worker) = self.workers.get(id) else { return };
        let (host, held, session) = (worker.host.clone(), worker.held.clone(), worker.session.clone());
        let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
        let label = self.labels.model(model);
        let note = format!("worker {name}{on} cannot load {label} and gets no more of its tasks: {text}");
        self.bars.say_soon(model, note);
        self.bars.tell(Barred { worker: name, session, host, model, kind, text }, self.now);
        for task in held {
            if self.task(task).is_none_or(|task| task.model != model) {
                continue;
            }
            if let Some((holder, grant)) = self.holder(task) {
                let message =
                    Message::Revoke { grant, samples: None, reason: "it cannot load the model", only_unbegun: false };
                self.send(holder, message, self.last_seq, effects);
            }
        }
    }

    /// Keeps a worker that has just attached off the models that its process could not load when it was here before, and
    /// off those that its host is barred from.
    pub(super) fn restore_bars(&mut self, id: WorkerIx) {
        let Some(worker) = self.workers.get(id).filter(|_| !self.bars.is_empty()) else { return };
        let restored = self.bars.restore(self.workers.name(id), &worker.session, &worker.host, self.now);
        self.workers.change(id, |worker| {
            worker.barred.extend(restored.told.iter().chain(restored.by_host.iter().map(|(model, _)| model)));
            worker.by_host.extend(restored.by_host);
        });
    }

    /// Lets workers of hosts whose time is over try again.
    pub(super) fn lift_bars(&mut self) {
        let now = self.now;
        if !self.bars.is_lifting(now) {
            return;
        }
        for id in self.workers.keys().collect::<Vec<_>>() {
            self.workers.change(id, |worker| {
                let (by_host, barred) = (&mut worker.by_host, &mut worker.barred);
                by_host.retain(|model, until| {
                    let is_over = *until <= now;
                    if is_over {
                        barred.remove(model);
                    }
                    !is_over
                });
            });
        }
        let next = self.workers.values().flat_map(|worker| worker.by_host.values().copied()).min();
        self.bars.lift_next(next);
    }

    /// Fails the tasks of models that no worker can load, once there is no more hope of one, and says which workers cannot.
    pub(super) fn judge_bars(&mut self, effects: &mut Vec<Effect>) {
        self.judge_models(effects);
        effects.extend(self.bars.take_unsaid(|_| true).into_iter().map(|text| Effect::Note { text }));
    }

    fn judge_models(&mut self, effects: &mut Vec<Effect>) {
        if self.bars.is_empty() || self.queue.is_empty() {
            return;
        }
        let timeouts = BarTimeouts { unschedulable: self.limits.unschedulable, settles: self.limits.settles };
        for model in self.bars.models() {
            let Some(first) = self.queue.of_model(model).next() else { continue };
            if self.is_any_able(first) {
                self.bars.is_able(model);
                continue;
            }
            let here =
                self.workers.iter().filter(|(_, worker)| worker.connection.is_some() && worker.barred.contains(&model));
            let here = here.map(|(id, _)| self.workers.name(id).clone()).collect();
            match self.bars.judge(model, self.now, &here, timeouts) {
                Prospect::Wait => {}
                Prospect::Fail => self.fail_model(model, effects),
                Prospect::Say(left) => {
                    let text = format!(
                        "no connected worker can load {}: its tasks fail in {} unless one joins that can",
                        self.labels.model(model),
                        lasting(left)
                    );
                    effects.push(Effect::Note { text });
                }
            }
        }
    }

    /// Returns whether a worker that is counted on may run the task, were it not at capacity.
    pub(super) fn is_any_able(&self, id: TaskId) -> bool {
        let Some(task) = self.task(id) else { return false };
        self.workers.values().any(|worker| !worker.is_draining() && self.could_run(worker, task))
    }

    fn fail_model(&mut self, model: ModelId, effects: &mut Vec<Effect>) {
        let Some(words) = self.bars.words(model) else { return };
        let class = if self.bars.is_gone(model) { FailureClass::WeightsGone } else { FailureClass::User };
        let tasks = self.queue.of_model(model).collect::<Vec<_>>();
        // Tasks that come back later fail for the reason that was said.
        if self.bars.say_failure(model) {
            let name = self.labels.model(model);
            let text = format!("no worker can load {name}; its {} failed: {words}", some(tasks.len() as u64, "task"));
            // The words name the workers with their reasons: one warning for a model is enough.
            effects.extend(self.bars.take_unsaid(|of| of == model).into_iter().map(|text| Effect::Event { text }));
            effects.push(Effect::Note { text });
        }
        for task in tasks {
            self.transition(task, To::Failed { class, message: words.clone() });
        }
    }

    /// Every worker that said that it cannot load a model, those that have left included.
    pub fn barred(&self) -> impl Iterator<Item = &Barred> {
        self.bars.told()
    }

    /// Explains why a worker gets no tasks of a model, if it is barred from it, and for how long where that is due to its
    /// host.
    pub(super) fn bar_in_words(&self, id: WorkerIx, model: ModelId) -> Option<String> {
        let worker = self.workers.get(id).filter(|worker| worker.barred.contains(&model))?;
        if let Some(until) = worker.by_host.get(&model) {
            let left = until.saturating_sub(self.now) / 1000;
            return Some(format!("barred for {left} s: other workers on {} cannot load the model", worker.host));
        }
        Some(format!("barred: {}", self.bars.reason(self.workers.name(id), model)?))
    }

    /// Returns the time that tasks of a model that no worker is able to load will still wait, in milliseconds.
    pub(super) fn waits_for_able(&self, model: ModelId) -> Option<u64> {
        self.bars.waits(model, self.now, self.limits.unschedulable)
    }
}
