//! What this worker holds: grants with their samples that wait, run and are done.
//!
//! Pure state. A grant lives from the master's frame until its last sample is handed in, or its revocation is
//! acknowledged. Frames may come twice: an attempt that was seen is not taken again.

use super::bisection::PoisonBisection;
use super::shard::Shard;
use compass_plan::DatasetPlan;
use compass_proto::{intervals_to_wire, v1};
use compass_types::ids::{Attempt, Digest, Epoch, GrantId, TaskId, UnitId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Samples of one batch at most.
/// Enough to keep an engine's slots full while long answers end, and to share beginnings.
pub const MAX_BATCH_SAMPLES: usize = 64;

/// A batch is not made smaller than this to leave something for other slots.
const LEAST_SHARE: usize = 8;

/// A grant as it was made, with the master's proof of it: what a leader that never heard of it goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) samples: IntervalSet,
    pub(super) proof: Vec<u8>,
}

/// Samples of a grant whose results, or whose report, the master has not acknowledged.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    pub(super) grant: GrantId,
    pub(super) unit: UnitId,
    pub(super) samples: Vec<u32>,
    pub(super) assignment: Arc<Assignment>,
}

/// One grant.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) key: GrantId,
    pub(super) unit: UnitId,
    /// As it was made under this name.
    pub(super) assignment: Arc<Assignment>,
    /// All of its samples that were not returned.
    pub(super) samples: IntervalSet,
    waiting: IntervalSet,
    running: IntervalSet,
    bisection: PoisonBisection,
    /// Taken back: what waits was dropped, what runs is handed in.
    pub(super) revoked: bool,
    /// Slots that may hold its model, as the master sees it; 0 where it does not say.
    pub(super) slots: u32,
    /// The slot that works on it.
    pub(super) slot: Option<usize>,
    /// `None` until the plan is known.
    pub(super) shard: Option<Shard>,
}

/// Samples to run together, all of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchChoice {
    pub(super) part: Digest,
    pub(super) samples: Vec<u32>,
}

impl Held {
    /// A grant of which nothing has begun.
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
            bisection: PoisonBisection::default(),
            revoked: false,
            slots: 0,
            slot: None,
            shard: None,
        }
    }

    /// Whether samples wait.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether nothing waits and nothing runs.
    pub(super) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The samples that wait.
    pub(super) fn waiting(&self) -> &IntervalSet {
        &self.waiting
    }

    /// Returns the next samples in order: neighbours of one part, suspects only with suspects of their kind; no more than
    /// leaves some for each of `slots`. `None` when nothing is pending, or when the plan does not have the next sample.
    pub(super) fn next_batch(&self, dataset: &DatasetPlan, slots: usize) -> Option<BatchChoice> {
        let first = self.waiting.iter().next()?;
        let part = dataset.part_of(first)?;
        let share = (self.waiting.len() as usize).div_ceil(slots.max(1)).clamp(LEAST_SHARE, MAX_BATCH_SAMPLES);
        let (end, suspects) = (part.first + part.samples, self.bisection.batch_size(first));
        let alike = |index: &u32| *index < end && self.bisection.batch_size(*index) == suspects;
        let samples = self.waiting.iter().take_while(alike).take(suspects.unwrap_or(share)).collect();
        Some(BatchChoice { part: part.digest, samples })
    }

    /// The parts that hold what waits, in order.
    pub(super) fn parts(&self, dataset: &DatasetPlan) -> Vec<Digest> {
        let mut parts: Vec<Digest> =
            self.waiting.iter().filter_map(|index| Some(dataset.part_of(index)?.digest)).collect();
        parts.dedup();
        parts
    }

    /// The batch went to an engine.
    pub(super) fn begun(&mut self, samples: &[u32]) {
        for &sample in samples {
            self.waiting.remove(sample);
            self.running.insert(sample);
        }
    }

    /// A result came; false when it is not awaited.
    pub(super) fn finished(&mut self, sample: u32) -> bool {
        self.bisection.succeeded(sample);
        self.running.remove(sample)
    }

    /// The batch's engine died before it began, or the batch was never sent: its samples wait again.
    pub(super) fn unbegun(&mut self, samples: &[u32]) {
        for &sample in samples {
            if self.running.remove(sample) && !self.revoked {
                self.waiting.insert(sample);
            }
        }
    }

    /// The batch's engine died in the middle. Samples without a result wait again, as suspects; those that must not be
    /// tried again stay running and are returned: their result is that they failed.
    pub(super) fn engine_died(&mut self, samples: &[u32]) -> Vec<u32> {
        let unfinished: Vec<u32> = samples.iter().copied().filter(|&sample| self.running.contains(sample)).collect();
        let given_up = self.bisection.engine_died(samples.len(), &unfinished);
        let again: Vec<u32> = unfinished.into_iter().filter(|sample| !given_up.contains(sample)).collect();
        self.unbegun(&again);
        given_up
    }

    /// Whether none of the grant has begun.
    pub(super) fn is_unbegun(&self) -> bool {
        self.waiting == self.samples
    }

    /// Lets go of those of the samples that have not begun, and names them.
    pub(super) fn give_back(&mut self, asked: &IntervalSet) -> IntervalSet {
        let kept = self.waiting.minus(asked);
        let returned = self.waiting.minus(&kept);
        self.waiting = kept;
        self.samples = self.samples.minus(&returned);
        returned
    }

    /// What waits or runs.
    pub(super) fn open(&self) -> IntervalSet {
        IntervalSet::from_pairs(self.waiting.pairs().iter().chain(self.running.pairs()).copied())
    }

    fn revoke(&mut self) {
        self.revoked = true;
        self.waiting = IntervalSet::new();
    }

    /// Only `kept` may still begin.
    fn confine(&mut self, kept: &IntervalSet) {
        let lost = self.waiting.minus(kept);
        self.give_back(&lost);
        self.revoked = false;
    }
}

/// What the master leaves of a grant to this worker, and under which name from now on.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) held: GrantId,
    pub(super) now: GrantId,
    pub(super) samples: IntervalSet,
    /// Of the grant under its name from now on.
    pub(super) proof: Vec<u8>,
}

/// All grants, oldest first.
#[derive(Debug, Default)]
pub(super) struct Grants {
    held: Vec<Held>,
    /// Latest attempt seen of every task.
    seen: BTreeMap<TaskId, (Epoch, Attempt)>,
}

impl Grants {
    /// Takes a grant; false when it was seen before. An older attempt of the same task is revoked by it.
    pub(super) fn offer(&mut self, grant: Held) -> bool {
        let GrantId { epoch, task, attempt } = grant.key;
        if self.seen.get(&task).is_some_and(|&seen| seen >= (epoch, attempt)) {
            return false;
        }
        self.seen.insert(task, (epoch, attempt));
        self.held.iter_mut().filter(|held| held.key.task == task).for_each(Held::revoke);
        self.held.push(grant);
        true
    }

    /// Takes back what has not begun of a grant; false when it is not held.
    pub(super) fn revoke(&mut self, key: GrantId) -> bool {
        self.get_mut(key).map(Held::revoke).is_some()
    }

    /// What the master that welcomed this worker leaves to it; all else is revoked. Returns the grants with a new name.
    pub(super) fn keep(&mut self, kept: &[Kept]) -> Vec<(GrantId, GrantId)> {
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

    /// A held grant.
    pub(super) fn get(&self, key: GrantId) -> Option<&Held> {
        self.held.iter().find(|held| held.key == key)
    }

    /// A held grant.
    pub(super) fn get_mut(&mut self, key: GrantId) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.key == key)
    }

    /// Lets a grant go.
    pub(super) fn remove(&mut self, key: GrantId) -> Option<Held> {
        let at = self.held.iter().position(|held| held.key == key)?;
        Some(self.held.remove(at))
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Drops everything, because the plan is another.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// For the hello: what waits and what runs, and what of `unacknowledged` is on its way, by grant.
    pub(super) fn to_wire(&self, unacknowledged: Vec<UnderWay>) -> Vec<v1::HeldGrant> {
        let held = self.held.iter().map(|held| (held.key, (held.unit, held.open(), held.assignment.clone())));
        let mut all: BTreeMap<GrantId, (UnitId, IntervalSet, Arc<Assignment>)> = held.collect();
        for UnderWay { grant, unit, samples, assignment } in unacknowledged {
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
