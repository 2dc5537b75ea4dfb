//! `-r` by content: what an earlier run computed and the new plan asks for again, whatever else changed.
//!
//! A sample is the same when its model, its prompts, its shots and the kind of request are; where it stands and how it is
//! evaluated do not matter.

use super::folder::RunFolder;
use super::planner::{PlanError, Planned, read_part};
use crate::ledger::{Kind, Ledger, LedgerError};
use compass_common::ids::{Digest, UnitId};
use compass_common::plan::{Part, Plan, Sample, Unit};
use compass_common::result::{Outcome, SampleResult};
use compass_proto::v1;
use prost::Message as _;
use std::collections::BTreeMap;

/// Why nothing can be taken over from a run.
#[derive(Debug, thiserror::Error)]
pub enum CarryOverError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The results of the run in `folder` that answer samples of `planned`, under the units and positions of the new plan.
/// Samples that failed are left out: they are tried again. `recorded` is as for [`Ledger::load`].
///
/// # Errors
/// The earlier run is damaged.
pub fn carry_over(
    folder: &RunFolder,
    plan: &Plan,
    digest: Digest,
    recorded: &BTreeMap<String, u64>,
    planned: &Planned,
) -> Result<Vec<(UnitId, SampleResult)>, CarryOverError> {
    let mut results: BTreeMap<(UnitId, u32), SampleResult> = BTreeMap::new();
    for entry in Ledger::new(folder.ledger(), digest).load(recorded)?.entries {
        let result = v1::SampleResult::decode(entry.payload.as_slice()).ok().map(SampleResult::try_from);
        if let (Kind::Sample, Some(Ok(result))) = (entry.kind(), result)
            && !matches!(result.outcome, Outcome::Failed { .. })
        {
            results.entry((UnitId(entry.unit), result.index)).or_insert(result);
        }
    }
    let mut known: BTreeMap<Digest, SampleResult> = BTreeMap::new();
    for unit in plan.units() {
        for part in &unit.dataset.parts {
            let part = read_part(folder, part)?;
            for sample in &part.samples {
                if let Some(result) = results.remove(&(unit.id, sample.index)) {
                    known.insert(content(unit, &part, sample), result);
                }
            }
        }
    }
    let mut kept = Vec::new();
    for unit in planned.plan.units() {
        for bytes in unit.dataset.parts.iter().filter_map(|part| planned.parts.get(&part.digest)) {
            let Ok(part) = serde_json::from_slice::<Part>(bytes) else { continue };
            for sample in &part.samples {
                if let Some(result) = known.get(&content(unit, &part, sample)) {
                    kept.push((unit.id, SampleResult { index: sample.index, ..result.clone() }));
                }
            }
        }
    }
    Ok(kept)
}

/// What the result of a sample depends on.
fn content(unit: Unit<'_>, part: &Part, sample: &Sample) -> Digest {
    let mut model = unit.model.clone();
    model.abbr.clear();
    model.pred_postprocessors.clear();
    let shots: Vec<_> = sample.shots.iter().map(|&at| part.shots.get(at as usize)).collect();
    let all = (&model, &unit.dataset.infer, &unit.dataset.shot_format, shots, &sample.body);
    // Plain data always serialises.
    Digest::of(&serde_json::to_vec(&all).unwrap_or_default())
}
