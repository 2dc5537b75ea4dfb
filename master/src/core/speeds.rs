//! How fast each worker gets through each model's samples, and how much dearer or cheaper a unit's are than was thought:
//! both learnt from what workers hand in.

use compass_common::ids::{UnitId, WorkerId};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Observed time, in milliseconds, after which what was seen counts half: speeds change with the data and the neighbours.
const HORIZON_MS: u64 = 300_000;
/// The same of a unit's costs, which do not change.
const UNIT_HORIZON_MS: f64 = 3_600_000.0;

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    cost: f64,
    ms: u64,
}

impl Seen {
    fn rate(self) -> Option<f64> {
        (self.ms > 0 && self.cost > 0.0).then(|| self.cost / self.ms as f64)
    }
}

/// Milliseconds that a unit's samples took, and those that they should have taken at the speed of who ran them.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    ms: f64,
    expected: f64,
}

/// A unit's estimate is not moved further than this, nor before so many milliseconds were seen.
const MOST: f64 = 20.0;
const LEAST_SEEN_MS: f64 = 1000.0;

/// Cost per millisecond by worker and model, and the correction of each unit's cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Speeds {
    /// By model. Only ever looked up.
    seen: BTreeMap<u32, HashMap<WorkerId, Seen, BuildHasherDefault<DefaultHasher>>>,
    all: BTreeMap<u32, Seen>,
    units: BTreeMap<UnitId, Taken>,
}

impl Speeds {
    /// A worker got through `cost` in `ms`; what comes in one frame has no time of its own but for its first sample.
    pub(super) fn observe(&mut self, worker: &WorkerId, unit: UnitId, model: u32, cost: u64, ms: u64) {
        if let Some(rate) = self.rate(worker, model) {
            let taken = self.units.entry(unit).or_default();
            taken.ms += ms as f64;
            taken.expected += cost as f64 / rate;
            if taken.ms > UNIT_HORIZON_MS {
                (taken.ms, taken.expected) = (taken.ms / 2.0, taken.expected / 2.0);
            }
        }
        // Speeds are those on corrected costs, so that a worker does not look fast for having had the cheap units.
        let cost = cost as f64 * self.correction(unit);
        let of_model = self.seen.entry(model).or_default();
        if !of_model.contains_key(worker) {
            of_model.insert(worker.clone(), Seen::default());
        }
        for seen in of_model.get_mut(worker).into_iter().chain([self.all.entry(model).or_default()]) {
            seen.cost += cost;
            seen.ms += ms;
            if seen.ms > HORIZON_MS {
                (seen.cost, seen.ms) = (seen.cost / 2.0, seen.ms / 2);
            }
        }
    }

    /// How many times as dear a unit's samples are as was thought.
    pub(super) fn correction(&self, unit: UnitId) -> f64 {
        let known = self.units.get(&unit).filter(|taken| taken.ms >= LEAST_SEEN_MS && taken.expected > 0.0);
        known.map_or(1.0, |taken| (taken.ms / taken.expected).clamp(1.0 / MOST, MOST))
    }

    /// What workers get through in a millisecond on average.
    pub(super) fn average(&self, model: u32) -> Option<f64> {
        self.all.get(&model).and_then(|seen| seen.rate())
    }

    /// What the worker gets through in a millisecond; for one that was not seen with this model yet, the average of all.
    pub(super) fn rate(&self, worker: &WorkerId, model: u32) -> Option<f64> {
        let own = self.seen.get(&model).and_then(|seen| seen.get(worker)).and_then(|seen| seen.rate());
        own.or_else(|| self.average(model))
    }
}
