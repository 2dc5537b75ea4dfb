//! Which worker each recorded sample came from, and how many reports can be compared, for `logs/run.json`: read back from the
//! ledger, which knows it for good.

use super::divergence::{Divergence, divergences};
use super::facts::{Diverged, RunFacts};
use super::score::is_compared;
use compass_ledger::{Kind, Loaded};
use compass_plan::Plan;
use compass_proto::v1;
use compass_types::ids::{UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use prost::Message as _;
use std::collections::BTreeMap;

/// Notes in `facts`, by model and data set, which samples came again with another result; returns how many.
pub(super) fn note_divergences(facts: &mut RunFacts, plan: &Plan, loaded: &Loaded) -> usize {
    let found = divergences(&loaded.entries);
    let count = found.len();
    for Divergence { unit, sample, recorded, differs } in found {
        let name = plan.unit(unit).map_or_else(|| format!("unit {unit}"), |unit| unit.name());
        facts.diverged.entry(name).or_default().push(Diverged { sample, recorded, differs });
    }
    count
}

/// Notes in `facts`, worker by worker, the samples whose results counted, and the reports.
pub(super) fn note(facts: &mut RunFacts, plan: &Plan, loaded: &Loaded) {
    let reports = loaded.entries.iter().filter(|entry| entry.kind() == Kind::Report);
    let reports: Vec<_> = reports.filter_map(|entry| v1::ShardReport::decode(entry.payload.as_slice()).ok()).collect();
    facts.reports = reports.len() as u64;
    facts.reports_not_compared = reports.iter().filter(|report| !is_compared(report)).count() as u64;
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
