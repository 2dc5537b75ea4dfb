//! `predictions/` while the run goes on: what is durable of each data set, rewritten whole and atomically now and then.
//!
//! A file holds the samples that have a result, in order. One that lacks some lies in `tmp/`, beside its final place, where
//! only whole ones are written: those have the bytes that scoring gives them once more. So a leader of old, stopped over a
//! file and woken after the run's end, can do no harm. Data sets that failed come with scoring alone. Writing rests twenty
//! times as long as it took, so that it costs a twentieth of a thread at most. A disk that refuses ends it with a warning:
//! the run continues, and scoring will say more.

use compass_eval::report::{prediction_record, write_records};
use compass_ledger::{Committed, Kind, Ledger};
use compass_plan::{Plan, Unit};
use compass_run_folder::{ADOPTED_WORKER, RunFolder, read_part, write_atomically_by};
use compass_scoring::ScoreError;
use compass_types::ids::UnitId;
use compass_types::result::SampleResult;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Least time between two rewritings.
const PAUSE: Duration = Duration::from_secs(2);
/// Ratio of the pause after a rewriting to the time that it took.
const REST: u32 = 20;

/// Results that are in memory at once: those of one data set, and of more until there are so many.
const AT_ONCE: usize = 100_000;

/// Times at which the inference stage writes `predictions/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveWriting {
    /// Never: the stage has none.
    #[default]
    Off,
    /// While it goes on; scoring follows and writes them once more.
    Meanwhile,
    /// At its end too, as this run is not scored yet; what lacks samples then stays in `tmp/`.
    UntilTheEnd,
}

/// Everything that a pass over the ledger reads.
#[derive(Clone, Debug)]
pub(super) struct LivePredictions {
    pub folder: RunFolder,
    pub plan: Arc<Plan>,
    pub ledger: Ledger,
    /// Recorded lengths of the segments of earlier leaders.
    pub recorded: BTreeMap<String, u64>,
    /// This leader's segment.
    pub segment: String,
}

/// Results by sample, of a unit.
type Results = BTreeMap<u32, SampleResult>;

impl LivePredictions {
    /// Writes until `stopping` is cancelled.
    pub(crate) async fn run(
        self,
        when: LiveWriting,
        durability: watch::Receiver<Committed>,
        stopping: CancellationToken,
    ) {
        if when == LiveWriting::Off {
            return;
        }
        let mut written: BTreeMap<UnitId, usize> = BTreeMap::new();
        let mut seen = None;
        let mut rest = PAUSE;
        let mut stopped = false;
        while !stopped {
            stopped = tokio::time::timeout(rest, stopping.cancelled()).await.is_ok();
            let length = durability.borrow().length;
            if seen.replace(length) == Some(length) || stopped && when != LiveWriting::UntilTheEnd {
                continue;
            }
            let begun = Instant::now();
            let (pass, before) = (self.clone(), std::mem::take(&mut written));
            match tokio::task::spawn_blocking(move || pass.write(length, before)).await {
                Ok(Ok(now)) => written = now,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "predictions are not written any more until the run is scored");
                    return;
                }
                Err(_) => return,
            }
            rest = PAUSE.max(begun.elapsed() * REST);
        }
    }

    /// Writes the file of every unit that has more results than were `written`; returns how many each has now.
    pub(crate) fn write(
        &self,
        length: u64,
        mut written: BTreeMap<UnitId, usize>,
    ) -> Result<BTreeMap<UnitId, usize>, ScoreError> {
        let mut recorded = self.recorded.clone();
        recorded.insert(self.segment.clone(), length);
        let mut batch = BTreeSet::new();
        let mut held = 0;
        for (unit, count) in self.counts(&recorded)? {
            if written.insert(unit, count) == Some(count) {
                continue;
            }
            batch.insert(unit);
            held += count;
            if held >= AT_ONCE {
                self.write_units(&recorded, &std::mem::take(&mut batch))?;
                held = 0;
            }
        }
        self.write_units(&recorded, &batch)?;
        Ok(written)
    }

    fn write_units(&self, recorded: &BTreeMap<String, u64>, batch: &BTreeSet<UnitId>) -> Result<(), ScoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut results = self.results(recorded, batch)?;
        for unit in self.plan.units() {
            if let Some(results) = results.remove(&unit.id) {
                self.write_unit(unit, &results)?;
            }
        }
        Ok(())
    }

    /// Counts the results of each unit; without units whose predictions another evaluator wrote.
    fn counts(&self, recorded: &BTreeMap<String, u64>) -> Result<BTreeMap<UnitId, usize>, ScoreError> {
        let (mut counts, mut adopted) = (BTreeMap::new(), BTreeSet::new());
        self.ledger.read(recorded, &mut |entry| {
            if entry.worker == ADOPTED_WORKER {
                adopted.insert(UnitId(entry.unit));
            }
            if entry.kind() == Kind::Sample {
                *counts.entry(UnitId(entry.unit)).or_default() += 1;
            }
        })?;
        counts.retain(|unit, _| !adopted.contains(unit));
        Ok(counts)
    }

    /// The first durable result of each sample of some units.
    fn results(
        &self,
        recorded: &BTreeMap<String, u64>,
        of: &BTreeSet<UnitId>,
    ) -> Result<BTreeMap<UnitId, Results>, ScoreError> {
        let mut units: BTreeMap<UnitId, Results> = BTreeMap::new();
        self.ledger.read(recorded, &mut |entry| {
            let unit = UnitId(entry.unit);
            if entry.kind() != Kind::Sample || !of.contains(&unit) {
                return;
            }
            if let Some(result) = entry.result() {
                units.entry(unit).or_default().entry(result.index).or_insert(result);
            }
        })?;
        Ok(units)
    }

    fn write_unit(&self, unit: Unit<'_>, results: &Results) -> Result<(), ScoreError> {
        let meta = unit.model.meta();
        let records = unit.dataset.parts.iter().flat_map(|part| {
            let inside = part.first..part.first + part.samples;
            if results.range(inside).next().is_none() {
                return Vec::new();
            }
            match read_part(&self.folder, part) {
                Err(error) => vec![Err(ScoreError::from(error))],
                Ok(part) => {
                    let known = part.samples.iter().filter_map(|sample| Some((sample, results.get(&sample.index)?)));
                    let record = |(sample, result)| {
                        (
                            sample,
                            prediction_record(
                                unit.dataset,
                                meta.as_ref(),
                                &part,
                                sample,
                                result,
                                unit.model.thinking.keep,
                            ),
                        )
                    };
                    known.map(record).map(|(sample, record)| Ok((sample.index, record))).collect()
                }
            }
        });
        let (model, dataset) = (&unit.model.abbr, &unit.dataset.abbr);
        if results.len() < unit.dataset.samples as usize {
            let path = self.folder.unfinished_predictions(model, dataset);
            return write_atomically_by(&path, |out| write_records(out, records));
        }
        let path = self.folder.predictions(model, dataset);
        write_atomically_by(&path, |out| write_records(out, records))?;
        self.folder.remove_unfinished_predictions(model, dataset);
        Ok(())
    }
}
