//! How fast each worker gets through each model's samples, learnt from what it hands in.

use compass_common::ids::WorkerId;
use std::collections::BTreeMap;

/// Observed time, in milliseconds, after which what was seen counts half: speeds change with the data and the neighbours.
const HORIZON_MS: u64 = 120_000;

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    cost: u64,
    ms: u64,
}

impl Seen {
    fn rate(self) -> Option<f64> {
        (self.ms > 0 && self.cost > 0).then(|| self.cost as f64 / self.ms as f64)
    }
}

/// Cost per millisecond by worker and model.
#[derive(Clone, Debug, Default)]
pub(super) struct Speeds {
    seen: BTreeMap<(WorkerId, u32), Seen>,
    all: BTreeMap<u32, Seen>,
}

impl Speeds {
    /// A worker got through `cost` in `ms`; what comes in one frame has no time of its own but for its first sample.
    pub(super) fn observe(&mut self, worker: &WorkerId, model: u32, cost: u64, ms: u64) {
        let entries = [self.seen.entry((worker.clone(), model)).or_default(), self.all.entry(model).or_default()];
        for seen in entries {
            seen.cost = seen.cost.saturating_add(cost);
            seen.ms += ms;
            if seen.ms > HORIZON_MS {
                (seen.cost, seen.ms) = (seen.cost / 2, seen.ms / 2);
            }
        }
    }

    /// What the worker gets through in a millisecond; for one that was not seen with this model yet, the average of all.
    pub(super) fn rate(&self, worker: &WorkerId, model: u32) -> Option<f64> {
        let own = self.seen.get(&(worker.clone(), model)).and_then(|seen| seen.rate());
        own.or_else(|| self.all.get(&model).and_then(|seen| seen.rate()))
    }
}
