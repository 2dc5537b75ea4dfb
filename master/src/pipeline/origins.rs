//! Which worker each recorded sample came from, for `logs/run.json`: read back from the ledger, which knows it for good.

use super::facts::RunFacts;
use crate::ledger::{Kind, Loaded};
use compass_common::ids::{UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use compass_common::plan::Plan;
use compass_proto::v1;
use prost::Message as _;
use std::collections::BTreeMap;

/// Notes in `facts`, worker by worker, the samples whose results counted.
pub(super) fn note(facts: &mut RunFacts, plan: &Plan, loaded: &Loaded) {
    let mut samples: BTreeMap<(&str, u32), Vec<u32>> = BTreeMap::new();
    for entry in loaded.entries.iter().filter(|entry| entry.kind() == Kind::Sample) {
        if let Ok(result) = v1::SampleResult::decode(entry.payload.as_slice()) {
            samples.entry((&entry.worker, entry.unit)).or_default().push(result.index);
        }
    }
    for ((worker, unit), mut indices) in samples {
        let Some(unit) = plan.unit(UnitId(unit)) else { continue };
        indices.sort_unstable();
        let runs = IntervalSet::from_pairs(indices.into_iter().map(|index| (index, index + 1)));
        let runs = runs.pairs().iter().map(|(first, end)| format!("{first}..{end}")).collect::<Vec<_>>().join(",");
        let name = format!("{}/{}", unit.model.abbr, unit.dataset.abbr);
        facts.ran(&WorkerId(worker.to_owned()), name, runs);
    }
}
