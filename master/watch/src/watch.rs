//! The decisions of a watch: from changes in the folder to the jobs that begin. No file, no clock.

use super::checkpoint::{Checkpoint, Phase};
use super::ending::EndingKind;
use super::event::{Action, Event, Examined, Look};
use super::policy::Policy;
use super::record::Record;
use super::step::step_of;
use compass_types::ids::Digest;
use std::collections::{BTreeMap, BTreeSet};

pub use super::evaluation::{Evaluation, EvaluationState};

/// The first wait before a job that could not begin is tried again, in milliseconds; twice as long each time after.
const POSTPONED_MS: u64 = 1_000;
const POSTPONED_MOST_MS: u64 = 60_000;

/// A content that a checkpoint had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    pub name: String,
    pub step: Option<u64>,
    pub content: Digest,
    /// Set if the checkpoint was overwritten with another content since.
    pub overwritten: bool,
}

/// A checkpoint without a content that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not whole yet, and why.
    Unfinished(String),
    /// It was removed before it was whole.
    Gone,
}

/// Checkpoints and evaluations of a folder.
#[derive(Clone, Debug)]
pub struct Watch {
    policy: Policy,
    checkpoints: BTreeMap<String, Checkpoint>,
    evaluations: BTreeMap<Digest, Evaluation>,
    /// Fingerprint of each checkpoint when it had its last content, and the content.
    seen: BTreeMap<String, (Digest, Digest)>,
    history: Vec<History>,
    /// Grows with everything that a curve may show.
    revision: u64,
}

impl Watch {
    /// A watch that knows what `records` tell.
    pub fn new(policy: Policy, records: impl IntoIterator<Item = Record>) -> Self {
        let mut watch = Self {
            policy,
            checkpoints: BTreeMap::new(),
            evaluations: BTreeMap::new(),
            seen: BTreeMap::new(),
            history: Vec::new(),
            revision: 0,
        };
        records.into_iter().for_each(|record| watch.restore(record));
        watch
    }

    fn restore(&mut self, record: Record) {
        match record {
            Record::Seen { name, fingerprint, content } => self.remember(&name, fingerprint, content),
            Record::Intended { content, name, step } => {
                let begun = EvaluationState::Begun { active: false, not_before: 0, postponed: 0 };
                let before = self.evaluations.remove(&content);
                let (folder, job) = before.map_or((None, None), |before| (before.folder, before.job));
                self.evaluations.insert(content, Evaluation { name, step, state: begun, folder, job });
            }
            Record::Placed { content, folder } => {
                self.with(content, |evaluation| evaluation.folder = Some(folder));
            }
            Record::Submitted { content, job } => self.with(content, |evaluation| evaluation.job = Some(job)),
            Record::Ended { content, ending } => self.with(content, |evaluation| {
                // Nothing was started, for a fault that may be put right by now.
                let is_tried_again = ending.kind() == EndingKind::Refused;
                evaluation.state = match is_tried_again {
                    true => EvaluationState::Begun { active: false, not_before: 0, postponed: 0 },
                    false => EvaluationState::Ended(ending),
                };
            }),
            Record::Skipped { content } => {
                let known = self.history.iter().find(|history| history.content == content);
                if let Some((name, step)) = known.map(|history| (history.name.clone(), history.step)) {
                    let skipped = Evaluation { state: EvaluationState::Skipped, ..Evaluation::queued(&name, step) };
                    self.evaluations.insert(content, skipped);
                }
            }
            Record::Gone { name } => {
                let mut checkpoint = Checkpoint::new(step_of(&name));
                checkpoint.phase = Phase::Gone;
                self.checkpoints.insert(name, checkpoint);
            }
            Record::GivenUp { content } => self.with(content, |evaluation| evaluation.state = EvaluationState::Gone),
        }
    }

    fn with(&mut self, content: Digest, change: impl FnOnce(&mut Evaluation)) {
        if let Some(evaluation) = self.evaluations.get_mut(&content) {
            change(evaluation);
        }
    }

    /// Remembers that a checkpoint has a content.
    fn remember(&mut self, name: &str, fingerprint: Digest, content: Digest) {
        self.seen.insert(name.to_owned(), (fingerprint, content));
        for history in self.history.iter_mut().filter(|history| history.name == name) {
            history.overwritten = history.content != content;
        }
        if !self.history.iter().any(|history| history.name == name && history.content == content) {
            let (name, step) = (name.to_owned(), step_of(name));
            self.history.push(History { name, step, content, overwritten: false });
        }
    }

    /// Returns the checkpoints that are due for a look.
    pub fn due(&self, now: u64) -> Vec<String> {
        let due = self.checkpoints.iter().filter(|(_, checkpoint)| checkpoint.is_due(now, self.policy.recheck_ms));
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Handles an event at `now`, in milliseconds of a clock that never goes back, and appends the actions to carry out.
    pub fn apply(&mut self, now: u64, event: Event, actions: &mut Vec<Action>) {
        let before = actions.len();
        let is_quiet = match &event {
            Event::Looked { name, look } => self.is_as_before(name, look.as_ref()),
            Event::Pass => true,
            _ => false,
        };
        match event {
            Event::Listed(names) => self.listed(&names, actions),
            Event::Looked { name, look: None } => self.vanish(&name, actions),
            Event::Looked { name, look: Some(look) } => self.looked(now, &name, look, actions),
            Event::Examined { name, found, after } => self.examined(now, &name, found, after, actions),
            Event::Pass => self.schedule(now, actions),
            Event::Placed { content, folder } => {
                actions.push(Action::Record(Record::Placed { content, folder: folder.clone() }));
                self.with(content, |evaluation| evaluation.folder = Some(folder));
            }
            Event::Submitted { content, job } => {
                if self.evaluations.get(&content).is_some_and(|evaluation| evaluation.job.as_ref() != Some(&job)) {
                    actions.push(Action::Record(Record::Submitted { content, job: job.clone() }));
                    self.with(content, |evaluation| evaluation.job = Some(job));
                }
            }
            Event::Ended { content, ending } => {
                if self.evaluations.get(&content).is_some_and(Evaluation::is_begun) {
                    actions.push(Action::Record(Record::Ended { content, ending: ending.clone() }));
                    self.with(content, |evaluation| evaluation.state = EvaluationState::Ended(ending));
                }
            }
            Event::Changed { content, name } => {
                actions.push(Action::Record(Record::GivenUp { content }));
                self.with(content, |evaluation| evaluation.state = EvaluationState::Gone);
                if let Some(checkpoint) = self.checkpoints.get_mut(&name).filter(|known| known.phase != Phase::Gone) {
                    checkpoint.phase = Phase::New;
                    // It looked so while it had another content.
                    self.seen.remove(&name);
                }
                self.requeue(content);
            }
            Event::Postponed { content } => self.with(content, |evaluation| {
                if let EvaluationState::Begun { active, not_before, postponed } = &mut evaluation.state {
                    let wait = POSTPONED_MS.saturating_mul(1 << (*postponed).min(16)).min(POSTPONED_MOST_MS);
                    (*active, *not_before, *postponed) = (false, now + wait, *postponed + 1);
                }
            }),
        }
        if !is_quiet || actions.len() > before {
            self.revision += 1;
        }
    }

    /// Returns whether a look shows nothing new about a checkpoint at rest.
    fn is_as_before(&self, name: &str, look: Option<&Look>) -> bool {
        let (Some(checkpoint), Some(look)) = (self.checkpoints.get(name), look) else { return false };
        match &checkpoint.phase {
            Phase::Known { fingerprint, .. } | Phase::Lacking { fingerprint, .. } => *fingerprint == look.fingerprint,
            _ => false,
        }
    }

    /// A number that is another one whenever something of what a curve shows may be another.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn listed(&mut self, names: &BTreeSet<String>, actions: &mut Vec<Action>) {
        for name in names {
            let step = step_of(name);
            if !self.policy.takes(step) {
                continue;
            }
            let checkpoint = self.checkpoints.entry(name.clone()).or_insert_with(|| Checkpoint::new(step));
            if checkpoint.phase == Phase::Gone {
                checkpoint.phase = Phase::New;
            }
        }
        // Removed while no watch was there.
        let unlisted = self.seen.keys().filter(|name| !names.contains(*name) && !self.checkpoints.contains_key(*name));
        for name in unlisted.cloned().collect::<Vec<_>>() {
            self.checkpoints.insert(name.clone(), Checkpoint::new(step_of(&name)));
        }
        let there = |checkpoint: &Checkpoint| checkpoint.phase != Phase::Gone;
        let gone = self.checkpoints.iter().filter(|(name, checkpoint)| there(checkpoint) && !names.contains(*name));
        for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.vanish(&name, actions);
        }
    }

    fn vanish(&mut self, name: &str, actions: &mut Vec<Action>) {
        let Some(checkpoint) = self.checkpoints.get_mut(name).filter(|known| known.phase != Phase::Gone) else {
            return;
        };
        let content = checkpoint.content();
        checkpoint.phase = Phase::Gone;
        checkpoint.said = None;
        actions.push(Action::Record(Record::Gone { name: name.to_owned() }));
        match content {
            Some(content) => self.lose(content, name, "was removed", actions),
            None if !self.seen.contains_key(name) => {
                actions.push(Action::Say(format!("{name} was removed before it was whole")));
            }
            None => {}
        }
    }

    /// A checkpoint has this content no more: what waits for it alone never begins.
    fn lose(&mut self, content: Digest, name: &str, how: &str, actions: &mut Vec<Action>) {
        if self.holder(content).is_some() {
            return;
        }
        if let Some(evaluation) = self.evaluations.get_mut(&content)
            && evaluation.state == EvaluationState::Queued
        {
            evaluation.state = EvaluationState::Gone;
            actions.push(Action::Say(format!("{name} {how} before it was evaluated")));
        }
    }

    /// The checkpoint that has this content now; of several the earliest, and one without a step last.
    fn holder(&self, content: Digest) -> Option<&str> {
        let holders = self.checkpoints.iter().filter(|(_, checkpoint)| checkpoint.content() == Some(content));
        let earliest = holders.min_by_key(|(name, checkpoint)| (checkpoint.step.is_none(), checkpoint.step, *name));
        earliest.map(|(name, _)| name.as_str())
    }

    fn looked(&mut self, now: u64, name: &str, look: Look, actions: &mut Vec<Action>) {
        let Some(checkpoint) = self.checkpoints.get_mut(name) else { return };
        checkpoint.looked_at = now;
        let Look { fingerprint, age_ms, unfinished } = look;
        let settling = |since| Phase::Settling { fingerprint, since, unfinished: unfinished.clone() };
        let mut lost = None;
        match &checkpoint.phase {
            Phase::New | Phase::Gone => match self.seen.get(name) {
                Some((before, content)) if *before == fingerprint && unfinished.is_none() => {
                    let content = *content;
                    checkpoint.phase = Phase::Known { fingerprint, content };
                    return self.known(name, content, actions);
                }
                _ => checkpoint.phase = settling(now),
            },
            Phase::Settling { fingerprint: before, since, .. } => {
                checkpoint.phase = settling(if *before == fingerprint { *since } else { now });
            }
            Phase::Lacking { fingerprint: before, .. } if *before == fingerprint => return,
            Phase::Known { fingerprint: before, .. } if *before == fingerprint => return,
            Phase::Known { content, .. } => {
                lost = Some(*content);
                checkpoint.phase = settling(now);
            }
            Phase::Lacking { .. } => checkpoint.phase = settling(now),
            Phase::Examining { .. } => return,
        }
        if let Phase::Settling { since, unfinished: None, .. } = &checkpoint.phase
            && (now.saturating_sub(*since) >= self.policy.stable_ms || age_ms >= self.policy.stable_ms)
        {
            checkpoint.phase = Phase::Examining { fingerprint };
            actions.push(Action::Examine { name: name.to_owned() });
        }
        // What waits for the content comes back with it, should that be what lies there still.
        if let Some(content) = lost
            && self.holder(content).is_none()
            && let Some(evaluation) = self.evaluations.get_mut(&content)
            && evaluation.state == EvaluationState::Queued
        {
            evaluation.state = EvaluationState::Gone;
        }
    }

    fn examined(&mut self, now: u64, name: &str, found: Examined, after: Option<Look>, actions: &mut Vec<Action>) {
        let Some(Checkpoint { phase: Phase::Examining { fingerprint }, .. }) = self.checkpoints.get(name) else {
            return;
        };
        let fingerprint = *fingerprint;
        let Some(after) = after else { return self.vanish(name, actions) };
        let Some(checkpoint) = self.checkpoints.get_mut(name) else { return };
        if after.fingerprint != fingerprint || after.unfinished.is_some() {
            let Look { fingerprint, unfinished, .. } = after;
            checkpoint.phase = Phase::Settling { fingerprint, since: now, unfinished };
            return;
        }
        match found {
            Examined::Lacks(reason) => {
                if checkpoint.said.as_ref() != Some(&reason) {
                    actions.push(Action::Say(format!("{name} is not whole: {reason}")));
                    checkpoint.said = Some(reason.clone());
                }
                checkpoint.phase = Phase::Lacking { fingerprint, since: now, reason };
            }
            Examined::Whole(content) => {
                checkpoint.phase = Phase::Known { fingerprint, content };
                checkpoint.said = None;
                let before = self.seen.get(name).map(|(_, content)| *content);
                actions.push(Action::Record(Record::Seen { name: name.to_owned(), fingerprint, content }));
                self.remember(name, fingerprint, content);
                if before.is_some_and(|before| before != content) {
                    let text = format!("{name} was overwritten with another content: it is evaluated again");
                    actions.push(Action::Say(text));
                }
                self.known(name, content, actions);
            }
        }
    }

    /// A checkpoint has a content that may have to be evaluated.
    fn known(&mut self, name: &str, content: Digest, actions: &mut Vec<Action>) {
        let step = self.checkpoints.get(name).and_then(|checkpoint| checkpoint.step);
        match self.evaluations.get_mut(&content) {
            None => drop(self.evaluations.insert(content, Evaluation::queued(name, step))),
            Some(evaluation) => match evaluation.state {
                EvaluationState::Gone => self.requeue(content),
                // It was skipped for a bound that does not hold any more.
                EvaluationState::Skipped if self.policy.backlog.is_none() => evaluation.state = EvaluationState::Queued,
                _ if evaluation.name != name => {
                    let text = format!("{name} has the content of {}: it is not evaluated again", evaluation.name);
                    actions.push(Action::Say(text));
                    if evaluation.state == EvaluationState::Queued {
                        self.requeue(content);
                    }
                }
                _ => {}
            },
        }
    }

    /// Lets an evaluation that was given up wait again, where a checkpoint has its content.
    fn requeue(&mut self, content: Digest) {
        let Some(name) = self.holder(content).map(str::to_owned) else { return };
        self.with(content, |evaluation| {
            evaluation.step = step_of(&name);
            evaluation.name = name;
            evaluation.state = EvaluationState::Queued;
        });
    }

    /// Contents that wait, in the order in which they begin.
    fn queue(&self) -> Vec<Digest> {
        let queued = self.evaluations.iter().filter(|(_, evaluation)| evaluation.state == EvaluationState::Queued);
        let mut queue: Vec<_> =
            queued.map(|(content, evaluation)| (evaluation.step, &evaluation.name, *content)).collect();
        queue.sort_unstable();
        if self.policy.newest_first {
            queue.reverse();
        }
        queue.into_iter().map(|(.., content)| content).collect()
    }

    fn schedule(&mut self, now: u64, actions: &mut Vec<Action>) {
        // Evaluations that had begun before this process, or could not begin, continue.
        for (content, evaluation) in &mut self.evaluations {
            if let EvaluationState::Begun { active, not_before, .. } = &mut evaluation.state
                && !*active
                && *not_before <= now
            {
                *active = true;
                let (name, step) = (evaluation.name.clone(), evaluation.step);
                actions.push(Action::Begin { content: *content, name, step });
            }
        }
        let begun = self.evaluations.values().filter(|evaluation| evaluation.is_begun()).count();
        let mut queue = self.queue();
        let rest = queue.split_off(self.policy.jobs.saturating_sub(begun).min(queue.len()));
        for content in queue {
            let Some(name) = self.holder(content).map(str::to_owned) else { continue };
            let Some(evaluation) = self.evaluations.get_mut(&content) else { continue };
            evaluation.state = EvaluationState::Begun { active: true, not_before: now, postponed: 0 };
            // Of an earlier try.
            (evaluation.folder, evaluation.job) = (None, None);
            evaluation.name.clone_from(&name);
            let step = evaluation.step;
            actions.push(Action::Record(Record::Intended { content, name: name.clone(), step }));
            actions.push(Action::Begin { content, name, step });
        }
        self.skip(rest, actions);
    }

    /// Skips the earliest of the waiting contents, as many as exceed the backlog.
    fn skip(&mut self, mut waiting: Vec<Digest>, actions: &mut Vec<Action>) {
        let Some(backlog) = self.policy.backlog else { return };
        if self.policy.newest_first {
            waiting.reverse();
        }
        let surplus = waiting.len().saturating_sub(backlog);
        for content in waiting.into_iter().take(surplus) {
            let Some(evaluation) = self.evaluations.get_mut(&content) else { continue };
            evaluation.state = EvaluationState::Skipped;
            actions.push(Action::Record(Record::Skipped { content }));
            let text = format!("{} is skipped: more than {backlog} checkpoints wait", evaluation.name);
            actions.push(Action::Say(text));
        }
    }

    /// The evaluation of a content.
    pub fn evaluation(&self, content: &Digest) -> Option<&Evaluation> {
        self.evaluations.get(content)
    }

    /// All evaluations, by content.
    pub fn evaluations(&self) -> impl Iterator<Item = (&Digest, &Evaluation)> {
        self.evaluations.iter()
    }

    /// Returns the contents that checkpoints had, in the order in which they were seen.
    pub fn history(&self) -> &[History] {
        &self.history
    }

    /// Returns whether a checkpoint no longer has this content.
    pub fn is_past(&self, known: &History) -> bool {
        let is_gone = |checkpoint: &Checkpoint| matches!(checkpoint.phase, Phase::Gone | Phase::Lacking { .. });
        known.overwritten || self.checkpoints.get(&known.name).is_some_and(is_gone)
    }

    /// Checkpoints that are not whole now, or never were.
    pub fn without_content(&self) -> impl Iterator<Item = (&str, Option<u64>, Standing)> {
        let unseen = self.checkpoints.iter().filter(|(name, checkpoint)| match checkpoint.phase {
            Phase::Settling { .. } | Phase::Examining { .. } | Phase::Lacking { .. } => true,
            Phase::New | Phase::Gone => !self.seen.contains_key(*name),
            Phase::Known { .. } => false,
        });
        unseen.map(|(name, checkpoint)| {
            let standing = match &checkpoint.phase {
                Phase::Gone => Standing::Gone,
                Phase::Settling { unfinished: Some(reason), .. } | Phase::Lacking { reason, .. } => {
                    Standing::Unfinished(reason.clone())
                }
                _ => Standing::Unfinished("it was written a moment ago".into()),
            };
            (name.as_str(), checkpoint.step, standing)
        })
    }

    /// Checkpoints that cannot be evaluated as they are, and why: they are being written, or lack something.
    pub fn unfinished(&self) -> impl Iterator<Item = (&str, &str)> {
        self.checkpoints.iter().filter_map(|(name, checkpoint)| {
            let why = match &checkpoint.phase {
                Phase::Settling { unfinished: Some(why), .. } => why,
                Phase::New | Phase::Settling { .. } | Phase::Examining { .. } => "it may still be being written",
                Phase::Lacking { reason, .. } => reason,
                Phase::Known { .. } | Phase::Gone => return None,
            };
            Some((name.as_str(), why))
        })
    }

    /// Returns whether nothing waits and nothing runs.
    pub fn is_idle(&self) -> bool {
        let is_open = |evaluation: &Evaluation| evaluation.is_begun() || evaluation.state == EvaluationState::Queued;
        !self.evaluations.values().any(is_open)
    }
}
