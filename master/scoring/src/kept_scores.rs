//! Live scores of samples that no worker will report: what an earlier master recorded before their worker died, or what was taken over
//! from another run. Shown, never believed, as reports are.

use super::score::ScoreError;
use compass_eval::evaluator::Accumulator;
use compass_ledger::{Kind, Ledger};
use compass_plan::{Plan, Unit};
use compass_progress::ProgressBoard;
use compass_proto::{intervals_to_wire, v1};
use compass_run_folder::{RunFolder, read_part};
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use compass_types::result::SampleResult;
use std::collections::BTreeMap;

/// Samples that are scored at most, so that a leader soon begins; of more no score is shown.
const MOST: u32 = 50_000;

/// Puts the scores of these samples on the board. Waits for the disk.
///
/// # Errors
/// The plan or the ledger is damaged.
pub fn show_kept(
    (folder, plan): (&RunFolder, &Plan),
    (ledger, recorded): (&Ledger, &BTreeMap<String, u64>),
    samples: &BTreeMap<UnitId, IntervalSet>,
    board: &ProgressBoard,
) -> Result<(), ScoreError> {
    let count = samples.values().map(IntervalSet::len).fold(0, u32::saturating_add);
    if count == 0 || count > MOST {
        return Ok(());
    }
    let mut results: BTreeMap<(UnitId, u32), SampleResult> = BTreeMap::new();
    ledger.read(recorded, &mut |entry| {
        let unit = UnitId(entry.unit);
        let Some(wanted) = samples.get(&unit).filter(|_| entry.kind() == Kind::Sample) else { return };
        if let Some(result) = entry.result()
            && wanted.contains(result.index)
        {
            results.entry((unit, result.index)).or_insert(result);
        }
    })?;
    for (unit, wanted) in samples {
        if let Some(unit) = plan.unit(*unit) {
            board.report(&report(folder, unit, wanted, &results)?);
        }
    }
    Ok(())
}

/// What a worker would report of these samples.
fn report(
    folder: &RunFolder,
    unit: Unit<'_>,
    wanted: &IntervalSet,
    results: &BTreeMap<(UnitId, u32), SampleResult>,
) -> Result<v1::ShardReport, ScoreError> {
    let mut evaluator = Accumulator::new(&unit.eval());
    let is_asked = |first: u32, end: u32| wanted.pairs().iter().any(|pair| pair.0 < end && first < pair.1);
    for part in unit.dataset.parts.iter().filter(|part| is_asked(part.first, part.first + part.samples)) {
        for sample in &read_part(folder, part)?.samples {
            if let Some(result) = results.get(&(unit.id, sample.index)) {
                evaluator.observe(sample, result);
            }
        }
    }
    let (counts, first) = (evaluator.counts(), evaluator.running().values.into_iter().next());
    Ok(v1::ShardReport {
        unit: unit.id.0,
        samples: intervals_to_wire(wanted),
        scored: u32::try_from(counts.scored).unwrap_or(u32::MAX),
        failed: u32::try_from(counts.failed).unwrap_or(u32::MAX),
        first: first.map(|metric| v1::ShownMetric { name: metric.name, value: metric.value }),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_ledger::LedgerEntry;
    use compass_plans::{damaged_run, planned, result};
    use compass_run_folder::write_plan;
    use compass_types::ids::Epoch;
    use prost::Message as _;
    use std::sync::Arc;

    #[test]
    fn samples_that_no_worker_reports_have_their_score_on_the_page() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "run").unwrap();
        let planned = planned();
        let digest = write_plan(&folder, &planned).unwrap();
        let ledger = Ledger::new(folder.ledger(), digest);
        let entry = |index: u32, best: usize| {
            let payload = v1::SampleResult::from(&result(index, best)).encode_to_vec();
            LedgerEntry { kind: Kind::Sample.into(), payload, ..LedgerEntry::default() }
        };
        ledger.create_segment(Epoch(1), "m").unwrap().append(&[entry(0, 0), entry(1, 1)]).unwrap();
        let board = ProgressBoard::new(Arc::new(planned.plan.clone()));
        let kept = BTreeMap::from([(UnitId(0), IntervalSet::range(0, 2))]);
        board.kept(UnitId(0), IntervalSet::range(0, 2), 0);
        show_kept((&folder, &planned.plan), (&ledger, &BTreeMap::new()), &kept, &board).unwrap();
        let live = board.live(std::iter::empty(), &BTreeMap::new());
        assert_eq!((live[0].value, live[0].scored, live[0].failed), (Some(50.0), 2, 0));
    }

    #[test]
    fn damaged_results_have_no_score() {
        let work_dir = tempfile::tempdir().unwrap();
        let (folder, plan, digest) = damaged_run(work_dir.path());
        let board = ProgressBoard::new(Arc::new(plan.clone()));
        let kept = BTreeMap::from([(UnitId(0), IntervalSet::range(0, 2))]);
        let ledger = Ledger::new(folder.ledger(), digest);
        show_kept((&folder, &plan), (&ledger, &BTreeMap::new()), &kept, &board).unwrap();
        let live = board.live(std::iter::empty(), &BTreeMap::new());
        assert_eq!((live[0].value, live[0].scored), (Some(100.0), 1));
    }
}
