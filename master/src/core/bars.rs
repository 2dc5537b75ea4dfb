//! Bars: workers that cannot load a model get no more tasks of it, and a model that no worker can load fails with reasons.
//!
//! A bar belongs to (worker session, model) and ends with the session. Tasks that come back through it cost no retry and
//! are granted next. Two barred workers of one host keep workers that attach from there later off the model for a while.

use super::effect::{Effect, Message};
use super::event::FailureClass;
use super::state::Core;
use super::task_table::To;
use super::worker_table::WorkerIx;
use compass_common::engine::UnableKind;
use compass_common::ids::{TaskId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// Barred workers of one host that bar the host.
const OF_A_HOST: usize = 2;
/// How long a host is barred the first time, in milliseconds; twice as long each time after.
const HOST_MS: u64 = 600_000;
/// Hosts whose reason about the content of the files must agree for it to be believed.
const AGREEING_HOSTS: usize = 2;
/// Bars that are remembered of a model for the words about it.
const MOST_TOLD: usize = 1000;
/// Workers that a reason names.
const MOST_NAMED: usize = 8;
/// How often the screen tells how long a model will still be waited for, in milliseconds; more often in the last minute.
const SAY_MS: u64 = 60_000;
const SAY_LATE_MS: u64 = 15_000;

/// A worker that cannot load a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barred {
    pub worker: WorkerId,
    /// Its process.
    pub session: String,
    /// Empty when the worker did not say.
    pub host: String,
    /// Position of the model in the plan.
    pub model: u32,
    pub kind: UnableKind,
    pub text: String,
}

impl Barred {
    fn is_of(&self, worker: &WorkerId, session: &str) -> bool {
        self.worker == *worker && self.session == session
    }
}

/// Whether workers may come beside those that are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supply {
    /// None can: a local runner, launchers that have given up, or a full bound.
    None,
    /// Some may join on their own.
    #[default]
    Possible,
    /// Launchers have ordered some that have not arrived.
    Ordered,
}

#[derive(Clone, Debug)]
struct HostBar {
    lasts: u64,
    until: u64,
}

/// What is known of the workers that cannot load one model.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelBars {
    /// Those that said so themselves, in order; those that have left are among them.
    told: Vec<Barred>,
    hosts: BTreeMap<String, HostBar>,
    /// Since when tasks wait and no worker is able, or since the latest bar.
    waiting_since: Option<u64>,
    say_at: u64,
}

impl ModelBars {
    /// Names of the workers of a host that were barred.
    fn of_host(&self, host: &str) -> usize {
        let workers: BTreeSet<_> = self.told.iter().filter(|bar| bar.host == host).map(|bar| &bar.worker).collect();
        workers.len()
    }

    /// Every reason once, with the workers that gave it.
    fn words(&self) -> String {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for bar in &self.told {
            let who = match bar.host.is_empty() {
                true => bar.worker.to_string(),
                false => format!("{} on {}", bar.worker, bar.host),
            };
            match reasons.iter_mut().find(|(text, _)| *text == bar.text) {
                Some((_, workers)) if workers.contains(&who) => {}
                Some((_, workers)) => workers.push(who),
                None => reasons.push((&bar.text, vec![who])),
            }
        }
        let each = reasons.into_iter().map(|(text, workers)| {
            let more = workers.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named: Vec<_> = workers.into_iter().take(MOST_NAMED).collect();
            format!("{text} (worker {}{more})", named.join(", "))
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

impl Core {
    /// A worker cannot load a model: it gets no more tasks of it, and those that it holds are asked back.
    pub(super) fn unable(
        &mut self,
        id: WorkerIx,
        model: u32,
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
        if !is_new && self.has_told(&name, model) {
            return;
        }
        self.workers.change(id, |worker| worker.models.unload(model));
        let Some(worker) = self.workers.get(id) else { return };
        let (host, held, session) = (worker.host.clone(), worker.held.clone(), worker.session.clone());
        let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
        let label = self.labels.model(model);
        let note = format!("worker {name}{on} cannot load {label} and gets no more of its tasks: {text}");
        effects.push(Effect::Note { text: note });
        let now = self.now;
        let bars = self.bars.entry(model).or_default();
        if bars.told.len() < MOST_TOLD {
            bars.told.push(Barred { worker: name, session, host: host.clone(), model, kind, text });
        }
        bars.waiting_since = Some(now);
        bars.say_at = now;
        if !host.is_empty() && bars.of_host(&host) >= OF_A_HOST {
            let bar = bars.hosts.entry(host).or_insert(HostBar { lasts: HOST_MS / 2, until: 0 });
            if bar.until <= now {
                bar.lasts = bar.lasts.saturating_mul(2);
                bar.until = now.saturating_add(bar.lasts);
            }
        }
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

    fn has_told(&self, id: &WorkerId, model: u32) -> bool {
        self.bars.get(&model).is_some_and(|bars| bars.told.iter().any(|bar| bar.worker == *id))
    }

    /// Keeps a worker that has just attached off the models that its process could not load when it was here before, and
    /// off those that its host is barred from.
    pub(super) fn restore_bars(&mut self, id: WorkerIx) {
        let (now, name, bars) = (self.now, self.workers.name(id).clone(), &self.bars);
        self.workers.change(id, |worker| {
            let told = bars.iter().filter(|(_, bars)| bars.told.iter().any(|bar| bar.is_of(&name, &worker.session)));
            worker.barred.extend(told.map(|(model, _)| *model));
            if worker.host.is_empty() {
                return;
            }
            for (model, bars) in bars {
                if let Some(bar) = bars.hosts.get(&worker.host).filter(|bar| bar.until > now)
                    && worker.barred.insert(*model)
                {
                    worker.by_host.insert(*model, bar.until);
                }
            }
        });
    }

    /// Lets workers of hosts whose time is over try again.
    pub(super) fn lift_bars(&mut self) {
        let now = self.now;
        let is_over = |bars: &ModelBars| bars.hosts.values().any(|bar| bar.until <= now);
        if !self.bars.values().any(is_over) {
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
    }

    /// Fails the tasks of models that no worker can load, once there is no more hope of one.
    pub(super) fn judge_bars(&mut self, effects: &mut Vec<Effect>) {
        for model in self.bars.keys().copied().collect::<Vec<_>>() {
            let Some(first) = self.queue.of_model(model).next() else { continue };
            let is_able = self.is_any_able(first);
            let (now, patience, settles) = (self.now, self.limits.unschedulable, self.limits.settles);
            let supply = self.supply;
            let here: BTreeSet<WorkerId> = self
                .workers
                .iter()
                .filter(|(_, worker)| worker.connection.is_some() && worker.barred.contains(&model))
                .map(|(id, _)| self.workers.name(id).clone())
                .collect();
            let Some(bars) = self.bars.get_mut(&model) else { continue };
            if is_able {
                bars.waiting_since = None;
                continue;
            }
            let since = *bars.waiting_since.get_or_insert(now);
            let left = (since + patience).saturating_sub(now);
            let no_more = supply == Supply::None && !here.is_empty() && now >= since + settles;
            if no_more || left == 0 || bars.is_content(&here, supply) {
                self.fail_model(model, effects);
            } else if now >= bars.say_at {
                bars.say_at = now + if left > SAY_MS { SAY_MS.min(left - SAY_MS / 2) } else { SAY_LATE_MS };
                let text = format!(
                    "no connected worker can load {}: its tasks fail in {} s unless one joins that can",
                    self.labels.model(model),
                    left.div_ceil(1000)
                );
                effects.push(Effect::Note { text });
            }
        }
    }

    /// Whether a worker that is counted on may run the task, were it not at capacity.
    pub(super) fn is_any_able(&self, id: TaskId) -> bool {
        let Some(task) = self.task(id) else { return false };
        self.workers.values().any(|worker| !worker.is_draining() && self.can_run(worker, task))
    }

    fn fail_model(&mut self, model: u32, effects: &mut Vec<Effect>) {
        let Some(words) = self.bars.get(&model).map(ModelBars::words) else { return };
        let class = FailureClass::User;
        let tasks = self.queue.of_model(model).collect::<Vec<_>>();
        let name = self.labels.model(model);
        let text = format!("no worker can load {name}; its {} tasks failed: {words}", tasks.len());
        effects.push(Effect::Note { text });
        for task in tasks {
            self.transition(task, To::Failed { class, message: words.clone() });
        }
    }

    /// Every worker that said that it cannot load a model, those that have left included.
    pub fn barred(&self) -> impl Iterator<Item = &Barred> {
        self.bars.values().flat_map(|bars| &bars.told)
    }

    /// Why a worker gets no tasks of a model, if it is barred from it, and how long the tasks will still wait, in
    /// milliseconds, where no other worker is able.
    pub(super) fn bar_in_words(&self, id: WorkerIx, model: u32) -> Option<String> {
        let worker = self.workers.get(id).filter(|worker| worker.barred.contains(&model))?;
        if let Some(until) = worker.by_host.get(&model) {
            let left = until.saturating_sub(self.now) / 1000;
            return Some(format!("barred for {left} s: other workers on {} cannot load the model", worker.host));
        }
        let bars = self.bars.get(&model)?;
        let name = self.workers.name(id);
        let bar = bars.told.iter().rev().find(|bar| bar.worker == *name)?;
        Some(format!("barred: {}", bar.text))
    }

    /// How long tasks of a model that no worker is able to load will still wait, in milliseconds.
    pub(super) fn waits_for_able(&self, model: u32) -> Option<u64> {
        let since = self.bars.get(&model)?.waiting_since?;
        Some((since + self.limits.unschedulable).saturating_sub(self.now))
    }
}

impl ModelBars {
    /// Whether it is settled that the content of the files is at fault: two hosts gave the same reason, or all workers that
    /// are connected did while no other is on its way.
    fn is_content(&self, here: &BTreeSet<WorkerId>, supply: Supply) -> bool {
        let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let content = self.told.iter().filter(|bar| bar.kind == UnableKind::Content);
        for bar in content.clone().filter(|bar| !bar.host.is_empty()) {
            hosts.entry(&bar.text).or_default().insert(&bar.host);
        }
        if hosts.values().any(|hosts| hosts.len() >= AGREEING_HOSTS) {
            return true;
        }
        let latest = |id: &WorkerId| self.told.iter().rev().find(|bar| bar.worker == *id);
        let reasons: BTreeSet<_> = here.iter().map(|id| latest(id).map(|bar| (bar.kind, &bar.text))).collect();
        let agreed = reasons.len() == 1 && matches!(reasons.first(), Some(Some((UnableKind::Content, _))));
        agreed && supply != Supply::Ordered
    }
}
