//! Knowledge of workers that cannot load a model, and of the progress of each model.
//!
//! A bar belongs to (worker session, model) and ends with the session. Two barred workers of one host keep workers that
//! attach from there later off the model for a while. Invariants: a reason is kept only of a worker that gave it itself; no
//! host is barred twice at a time; bars of hosts that end next are known without a look at any worker.

use compass_plan::engine::UnableKind;
use compass_types::ids::{ModelId, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// Barred workers of one host that bar the host.
const OF_A_HOST: usize = 2;
/// Time that a host is barred the first time, in milliseconds; twice as long each time after.
const HOST_MS: u64 = 600_000;
/// Hosts whose reason about the content of the files must agree for it to be believed.
const AGREEING_HOSTS: usize = 2;
/// Bars that are remembered of a model for the words about it.
const MOST_TOLD: usize = 1000;
/// Workers that a reason names.
const MOST_NAMED: usize = 8;
/// Interval at which the screen tells how long a model will still be waited for, in milliseconds; shorter in the last
/// minute.
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
    pub model: ModelId,
    pub kind: UnableKind,
    pub text: String,
}

impl Barred {
    fn is_of(&self, worker: &WorkerId, session: &str) -> bool {
        self.worker == *worker && self.session == session
    }
}

/// Possibility that workers join those that are connected.
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

/// Knowledge of the workers that cannot load one model.
#[derive(Clone, Debug, Default)]
struct ModelBars {
    /// Workers that said so themselves, in order; workers that have left are among them.
    told: Vec<Barred>,
    hosts: BTreeMap<String, HostBar>,
    /// Since when tasks wait and no worker is able, or since the latest bar.
    waiting_since: Option<u64>,
    say_at: u64,
    /// Set if its weights do not lie at its path any more.
    is_gone: bool,
    /// Reasons of the failures of its tasks that were said.
    said: BTreeSet<String>,
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
            let noun = if workers.len() == 1 { "worker" } else { "workers" };
            let named: Vec<_> = workers.into_iter().take(MOST_NAMED).collect();
            format!("{text} ({noun} {}{more})", named.join(", "))
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

/// Bars of a worker that attaches: models that its process could not load when it was here before, and those that its host
/// is barred from, with the end of that.
#[derive(Clone, Debug, Default)]
pub(super) struct Restored {
    pub(super) told: Vec<ModelId>,
    pub(super) by_host: Vec<(ModelId, u64)>,
}

/// Outcome for the pending tasks of a model that workers are barred from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prospect {
    /// They wait.
    Wait,
    /// They wait, and so many milliseconds are left until they fail, which is to be said.
    Say(u64),
    /// They fail.
    Fail,
}

/// Timeouts of tasks that wait for a worker that can load their model; see [`super::Limits`]. In milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarTimeouts {
    pub(super) unschedulable: u64,
    pub(super) settles: u64,
}

/// Bars by model, and when each model last got on.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    models: BTreeMap<ModelId, ModelBars>,
    supply: Supply,
    got_on: BTreeMap<ModelId, u64>,
    /// No worker's bar through its host ends before.
    lift_at: u64,
    /// Messages of this step about workers that cannot load a model.
    unsaid: Vec<(ModelId, String)>,
}

impl Bars {
    pub(super) fn new(supply: Supply) -> Self {
        Self { models: BTreeMap::new(), supply, got_on: BTreeMap::new(), lift_at: u64::MAX, unsaid: Vec::new() }
    }

    /// Keeps what is to be said of a worker that cannot load a model until the end of the step.
    pub(super) fn say_soon(&mut self, model: ModelId, text: String) {
        self.unsaid.push((model, text));
    }

    /// Takes the messages about some models that are still to be said, in order.
    pub(super) fn take_unsaid(&mut self, of: impl Fn(ModelId) -> bool) -> Vec<String> {
        self.unsaid.extract_if(.., |(model, _)| of(*model)).map(|(_, text)| text).collect()
    }

    /// Returns what launchers can still do.
    pub(super) fn supply(&self) -> Supply {
        self.supply
    }

    /// Launchers have said what they can still do.
    pub(super) fn set_supply(&mut self, supply: Supply) {
        self.supply = supply;
    }

    /// A worker has loaded a model or has sent results of it.
    pub(super) fn got_on(&mut self, model: ModelId, now: u64) {
        self.got_on.insert(model, now);
    }

    /// Returns the time since a model last got on, in milliseconds; 0 before it has for the first time.
    pub(super) fn still_ms(&self, model: ModelId, now: u64) -> u64 {
        self.got_on.get(&model).map_or(0, |at| now.saturating_sub(*at))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Models that workers have been barred from.
    pub(super) fn models(&self) -> Vec<ModelId> {
        self.models.keys().copied().collect()
    }

    /// Every worker that said that it cannot load a model, those that have left included.
    pub(super) fn told(&self) -> impl Iterator<Item = &Barred> {
        self.models.values().flat_map(|bars| &bars.told)
    }

    /// Returns whether a worker has said itself that it cannot load a model.
    pub(super) fn has_told(&self, worker: &WorkerId, model: ModelId) -> bool {
        self.models.get(&model).is_some_and(|bars| bars.told.iter().any(|bar| bar.worker == *worker))
    }

    /// The latest reason that a worker gave.
    pub(super) fn reason(&self, worker: &WorkerId, model: ModelId) -> Option<&str> {
        let told = &self.models.get(&model)?.told;
        told.iter().rev().find(|bar| bar.worker == *worker).map(|bar| bar.text.as_str())
    }

    /// Every reason once, with the workers that gave it.
    pub(super) fn words(&self, model: ModelId) -> Option<String> {
        self.models.get(&model).map(ModelBars::words)
    }

    /// Returns whether tasks of a model fail for a reason that was not said yet; from now on it counts as said.
    pub(super) fn say_failure(&mut self, model: ModelId) -> bool {
        let Some(bars) = self.models.get_mut(&model) else { return false };
        let before = bars.said.len();
        bars.said.extend(bars.told.iter().map(|bar| bar.text.clone()));
        bars.said.len() > before
    }

    /// Notes that what a model was planned with is gone: there is no use in waiting for a worker that can load it.
    pub(super) fn weights_gone(&mut self, model: ModelId) {
        self.models.entry(model).or_default().is_gone = true;
    }

    /// Returns whether a model's weights are gone.
    pub(super) fn is_gone(&self, model: ModelId) -> bool {
        self.models.get(&model).is_some_and(|bars| bars.is_gone)
    }

    /// Takes note of a worker that cannot load a model.
    pub(super) fn tell(&mut self, bar: Barred, now: u64) {
        let host = bar.host.clone();
        let bars = self.models.entry(bar.model).or_default();
        if bars.told.len() < MOST_TOLD {
            bars.told.push(bar);
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
    }

    /// Bars of a worker that attaches.
    pub(super) fn restore(&mut self, worker: &WorkerId, session: &str, host: &str, now: u64) -> Restored {
        let mut restored = Restored::default();
        for (&model, bars) in &self.models {
            if bars.told.iter().any(|bar| bar.is_of(worker, session)) {
                restored.told.push(model);
            } else if let Some(bar) = bars.hosts.get(host).filter(|bar| bar.until > now) {
                restored.by_host.push((model, bar.until));
                self.lift_at = self.lift_at.min(bar.until);
            }
        }
        restored
    }

    /// Returns whether bars of workers through their hosts may be over; the remaining ones end at the time that is to be
    /// given to [`Self::lift_next`] after a look at the workers.
    pub(super) fn is_lifting(&self, now: u64) -> bool {
        now >= self.lift_at
    }

    /// The end of the next bar of an attached worker through its host.
    pub(super) fn lift_next(&mut self, at: Option<u64>) {
        self.lift_at = at.unwrap_or(u64::MAX);
    }

    /// Decides the outcome for the pending tasks of a model that no worker is able to load. `here` are the connected
    /// workers that are barred from it.
    pub(super) fn judge(
        &mut self,
        model: ModelId,
        now: u64,
        here: &BTreeSet<WorkerId>,
        timeouts: BarTimeouts,
    ) -> Prospect {
        let supply = self.supply;
        let Some(bars) = self.models.get_mut(&model).filter(|bars| !bars.told.is_empty()) else {
            return Prospect::Wait;
        };
        let since = *bars.waiting_since.get_or_insert(now);
        let left = (since + timeouts.unschedulable).saturating_sub(now);
        let no_more = supply == Supply::None && !here.is_empty() && now >= since + timeouts.settles;
        let is_hopeless = bars.is_gone && !here.is_empty();
        if is_hopeless || no_more || left == 0 || bars.is_content(here, supply) {
            return Prospect::Fail;
        }
        if now < bars.say_at {
            return Prospect::Wait;
        }
        bars.say_at = now + if left > SAY_MS { SAY_MS.min(left - SAY_MS / 2) } else { SAY_LATE_MS };
        Prospect::Say(left)
    }

    /// A worker is able to load a model: nothing of it waits for one.
    pub(super) fn is_able(&mut self, model: ModelId) {
        if let Some(bars) = self.models.get_mut(&model) {
            bars.waiting_since = None;
        }
    }

    /// Returns the time that tasks of a model that no worker is able to load will still wait, in milliseconds.
    pub(super) fn waits(&self, model: ModelId, now: u64, timeouts: u64) -> Option<u64> {
        let since = self.models.get(&model)?.waiting_since?;
        Some((since + timeouts).saturating_sub(now))
    }
}

impl ModelBars {
    /// Returns whether it is settled that the content of the files is at fault: two hosts gave the same reason, or all
    /// workers that are connected did while no other is on its way.
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
