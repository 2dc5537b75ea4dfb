//! Grants of this worker, with their pending, running and finished samples.
//!
//! Pure state. A grant lives from the master's frame until its last result is sent, or its revocation is acknowledged.
//! Frames may arrive twice: an attempt that was seen before is ignored.

use super::bisection::PoisonBisection;
use super::shard::Shard;
use compass_plan::DatasetPlan;
use compass_proto::{drawn_to_wire, intervals_to_wire, v1};
use compass_types::ids::{Attempt, Digest, Epoch, GrantId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of samples in a batch: enough to keep an engine's slots full while long answers end, and to share
/// prefixes.
pub const MAX_BATCH_SAMPLES: usize = 64;

/// Minimum size of a batch that is shared with other slots.
pub(super) const MIN_SHARE: usize = 8;

/// A grant as it was made, with the master's proof: all that a new leader knows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) samples: IntervalSet,
    pub(super) proof: Vec<u8>,
}

/// Samples of a grant whose results, or whose report, the master has not acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Unacknowledged {
    pub(super) grant: GrantId,
    pub(super) unit: UnitId,
    pub(super) samples: Vec<u32>,
    pub(super) assignment: Arc<Assignment>,
}

/// State of one grant.
#[derive(Clone, Debug)]
pub(super) struct GrantState {
    pub(super) key: GrantId,
    pub(super) unit: UnitId,
    /// The grant as made under this name.
    pub(super) assignment: Arc<Assignment>,
    /// All samples of the grant that were not returned.
    pub(super) samples: IntervalSet,
    waiting: IntervalSet,
    running: IntervalSet,
    /// Samples that have no room in memory, and why the first of them has none: they go back to the master at the end.
    without_room: IntervalSet,
    why_no_room: String,
    bisection: PoisonBisection,
    /// Number of answers of samples that were drawn before.
    drawn: BTreeMap<u32, u32>,
    /// Set if the grant was revoked: pending samples were dropped, running ones finish.
    pub(super) revoked: bool,
    /// Maximum number of slots for its model, as set by the master; 0 if not set.
    pub(super) slots: u32,
    /// The slot that works on it.
    pub(super) slot: Option<usize>,
    /// `None` until the plan is known.
    pub(super) shard: Option<Shard>,
}

/// Samples of one part to run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchChoice {
    pub(super) part: Digest,
    pub(super) samples: Vec<u32>,
}

impl GrantState {
    /// Creates a grant without started samples.
    pub(super) fn new(key: GrantId, unit: UnitId, samples: IntervalSet, proof: Vec<u8>) -> Self {
        let (waiting, running) = (samples.clone(), IntervalSet::new());
        let assignment = Arc::new(Assignment { samples: samples.clone(), proof });
        Self {
            key,
            unit,
            assignment,
            samples,
            waiting,
            running,
            without_room: IntervalSet::new(),
            why_no_room: String::new(),
            bisection: PoisonBisection::default(),
            drawn: BTreeMap::new(),
            revoked: false,
            slots: 0,
            slot: None,
            shard: None,
        }
    }

    /// With samples of which an engine died before.
    pub(super) fn suspecting(self, suspects: &IntervalSet) -> Self {
        Self { bisection: PoisonBisection::after_one_death(suspects), ..self }
    }

    /// With samples of which answers were drawn before.
    pub(super) fn with_drawn(self, drawn: BTreeMap<u32, u32>) -> Self {
        Self { drawn, ..self }
    }

    /// Returns which of these samples have answers that were drawn before, for the engine.
    pub(super) fn drawn(&self, samples: &[u32]) -> Vec<v1::Drawn> {
        drawn_to_wire(samples.iter().filter_map(|index| Some((*index, *self.drawn.get(index)?))))
    }

    /// Returns whether samples are pending.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns whether no sample is pending or running.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Returns whether a sample is running.
    pub(super) fn is_running(&self, sample: u32) -> bool {
        self.running.contains(sample)
    }

    /// Returns whether some samples are suspected of having killed an engine.
    pub(super) fn has_suspects(&self) -> bool {
        !self.bisection.is_empty()
    }

    /// Returns the pending samples.
    pub(super) fn waiting(&self) -> &IntervalSet {
        &self.waiting
    }

    /// Returns the next samples in order, all of one part; suspects only with suspects of their kind; leaves some for
    /// each of `slots`. `None` when nothing is pending, or when the plan does not have the next sample.
    pub(super) fn next_batch(&self, dataset: &DatasetPlan, slots: usize) -> Option<BatchChoice> {
        let first = self.waiting.iter().next()?;
        let part = dataset.part_of(first)?;
        let share = (self.waiting.len() as usize).div_ceil(slots.max(1)).clamp(MIN_SHARE, MAX_BATCH_SAMPLES);
        let (end, suspects) = (part.first + part.samples, self.bisection.batch_size(first));
        let alike = |index: &u32| *index < end && self.bisection.batch_size(*index) == suspects;
        let samples = self.waiting.iter().take_while(alike).take(suspects.unwrap_or(share)).collect();
        Some(BatchChoice { part: part.digest, samples })
    }

    /// Returns the parts that hold the pending samples, in order.
    pub(super) fn parts(&self, dataset: &DatasetPlan) -> Vec<Digest> {
        let mut parts: Vec<Digest> =
            self.waiting.iter().filter_map(|index| Some(dataset.part_of(index)?.digest)).collect();
        parts.dedup();
        parts
    }

    /// Marks samples as running.
    pub(super) fn started(&mut self, samples: &[u32]) {
        for &sample in samples {
            self.waiting.remove(sample);
            self.running.insert(sample);
        }
    }

    /// Marks a sample as finished; returns false if it was not running.
    pub(super) fn finished(&mut self, sample: u32) -> bool {
        self.bisection.succeeded(sample);
        self.running.remove(sample)
    }

    /// Marks a running sample as one that has no room in memory.
    pub(super) fn has_no_room(&mut self, sample: u32, why: String) {
        if !self.finished(sample) {
            return;
        }
        if self.without_room.is_empty() {
            self.why_no_room = why;
        }
        self.without_room.insert(sample);
    }

    /// Returns why samples of a grant that is over have no room, if any has none and they are still wanted from this worker.
    pub(super) fn why_no_room(&self) -> Option<String> {
        match self.without_room.len() {
            _ if self.revoked => None,
            0 => None,
            1 => Some(self.why_no_room.clone()),
            samples => Some(format!("{} (the first of {samples} samples)", self.why_no_room)),
        }
    }

    /// Makes samples of a batch that did not run pending again.
    pub(super) fn requeue(&mut self, samples: &[u32]) {
        for &sample in samples {
            if self.running.remove(sample) && !self.revoked {
                self.waiting.insert(sample);
            }
        }
    }

    /// Makes samples without a result pending again, as suspects, after the engine died. Returns those that must not be
    /// retried; they stay running until their failure is recorded.
    pub(super) fn engine_died(&mut self, samples: &[u32]) -> Vec<u32> {
        let unfinished: Vec<u32> = samples.iter().copied().filter(|&sample| self.running.contains(sample)).collect();
        let given_up = self.bisection.engine_died(samples.len(), &unfinished);
        let again: Vec<u32> = unfinished.into_iter().filter(|sample| !given_up.contains(sample)).collect();
        self.requeue(&again);
        given_up
    }

    /// Returns whether no sample of the grant has started.
    pub(super) fn is_unstarted(&self) -> bool {
        self.waiting == self.samples
    }

    /// Drops the samples among `asked` that have not started, and returns them.
    pub(super) fn return_unstarted(&mut self, asked: &IntervalSet) -> IntervalSet {
        let kept = self.waiting.minus(asked);
        let returned = self.waiting.minus(&kept);
        self.waiting = kept;
        self.samples = self.samples.minus(&returned);
        returned
    }

    /// Samples without a result.
    pub(super) fn open(&self) -> IntervalSet {
        let all = [&self.waiting, &self.running, &self.without_room];
        IntervalSet::from_pairs(all.into_iter().flat_map(IntervalSet::pairs).copied())
    }

    fn revoke(&mut self) {
        self.revoked = true;
        self.waiting = IntervalSet::new();
    }

    /// Drops pending samples that are not in `kept`.
    fn confine(&mut self, kept: &IntervalSet) {
        let lost = self.waiting.minus(kept);
        self.return_unstarted(&lost);
        self.revoked = false;
    }
}

/// A grant that the master leaves to this worker, with its new name.
#[derive(Clone, Debug)]
pub(super) struct KeptGrant {
    pub(super) held: GrantId,
    pub(super) now: GrantId,
    pub(super) samples: IntervalSet,
    /// Proof of the grant under its new name.
    pub(super) proof: Vec<u8>,
}

/// All grants, oldest first.
#[derive(Debug, Default)]
pub(super) struct Grants {
    held: Vec<GrantState>,
    /// Latest attempt seen of every task.
    seen: BTreeMap<TaskId, (Epoch, Attempt)>,
}

impl Grants {
    /// Adds a grant; returns false if it was seen before. Revokes an older attempt of the same task.
    pub(super) fn offer(&mut self, grant: GrantState) -> bool {
        let GrantId { epoch, task, attempt } = grant.key;
        if self.seen.get(&task).is_some_and(|&seen| seen >= (epoch, attempt)) {
            return false;
        }
        self.seen.insert(task, (epoch, attempt));
        self.held.iter_mut().filter(|held| held.key.task == task).for_each(GrantState::revoke);
        self.held.push(grant);
        true
    }

    /// Revokes a grant; returns false if the worker does not hold it.
    pub(super) fn revoke(&mut self, key: GrantId) -> bool {
        self.get_mut(key).map(GrantState::revoke).is_some()
    }

    /// Keeps the grants that a welcome leaves to this worker, and revokes the others. Returns the old and new names.
    pub(super) fn keep(&mut self, kept: &[KeptGrant]) -> Vec<(GrantId, GrantId)> {
        let mut renamed = Vec::new();
        for held in &mut self.held {
            let Some(kept) = kept.iter().find(|kept| kept.held == held.key) else {
                held.revoke();
                continue;
            };
            held.confine(&kept.samples);
            if kept.now != held.key {
                renamed.push((held.key, kept.now));
                held.key = kept.now;
                let (samples, proof) = (kept.samples.clone(), kept.proof.clone());
                held.assignment = Arc::new(Assignment { samples, proof });
            }
            self.seen.insert(kept.now.task, (kept.now.epoch, kept.now.attempt));
        }
        renamed
    }

    /// Returns a grant.
    pub(super) fn get(&self, key: GrantId) -> Option<&GrantState> {
        self.held.iter().find(|held| held.key == key)
    }

    /// Returns a grant, mutable.
    pub(super) fn get_mut(&mut self, key: GrantId) -> Option<&mut GrantState> {
        self.held.iter_mut().find(|held| held.key == key)
    }

    /// Removes a grant.
    pub(super) fn remove(&mut self, key: GrantId) -> Option<GrantState> {
        let at = self.held.iter().position(|held| held.key == key)?;
        Some(self.held.remove(at))
    }

    /// Returns the grants, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &GrantState> {
        self.held.iter()
    }

    /// Drops all grants, because the plan has changed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the grants for a hello: pending and running samples, and those of `unacknowledged`, by grant.
    pub(super) fn to_wire(&self, unacknowledged: Vec<Unacknowledged>) -> Vec<v1::HeldGrant> {
        let held = self.held.iter().map(|held| (held.key, (held.unit, held.open(), held.assignment.clone())));
        let mut all: BTreeMap<GrantId, (UnitId, IntervalSet, Arc<Assignment>)> = held.collect();
        for Unacknowledged { grant, unit, samples, assignment } in unacknowledged {
            let (_, known, _) = all.entry(grant).or_insert_with(|| (unit, IntervalSet::new(), assignment));
            for sample in samples {
                known.insert(sample);
            }
        }
        let wire = all.into_iter().map(|(key, (unit, samples, assignment))| v1::HeldGrant {
            id: Some(key.into()),
            unit: unit.0,
            granted: if assignment.samples == samples { Vec::new() } else { intervals_to_wire(&assignment.samples) },
            samples: intervals_to_wire(&samples),
            proof: assignment.proof.clone(),
        });
        wire.collect()
    }
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
