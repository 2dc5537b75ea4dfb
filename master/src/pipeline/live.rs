//! `predictions/` while the run goes on: what is durable of each data set, rewritten whole and atomically now and then.
//!
//! A file holds the samples that have a result, in order. One that lacks some lies in `tmp/`, beside its final place, where
//! only whole ones are written: those have the bytes that scoring gives them once more. So a leader of old, stopped over a
//! file and woken after the run's end, can do no harm. Data sets that failed come with scoring alone. Writing rests twenty times as long as it took, so that it costs a
//! twentieth of a thread at most. A disk that refuses ends it with a warning: the run goes on, and scoring will say more.

use super::folder::{RunFolder, write_atomically};
use super::import::ADOPTED;
use super::planner::read_part;
use super::score::ScoreError;
use compass_eval::report::{prediction_record, write_records};
use compass_ledger::{Committed, Kind, Ledger};
use compass_plan::{Plan, Unit};
use compass_proto::v1;
use compass_types::ids::UnitId;
use compass_types::result::SampleResult;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Least time between two rewritings.
const PAUSE: Duration = Duration::from_secs(2);
/// How much longer than it took the next one is put off.
const REST: u32 = 20;

/// When `predictions/` are written by the inference stage.
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
    pub(super) folder: RunFolder,
    pub(super) plan: Arc<Plan>,
    pub(super) ledger: Ledger,
    /// Recorded lengths of the segments of earlier leaders.
    pub(super) recorded: BTreeMap<String, u64>,
    /// This leader's segment.
    pub(super) segment: String,
}

/// Results by sample, of a unit.
type Results = BTreeMap<u32, SampleResult>;

impl LivePredictions {
    /// Writes until `stopping` is cancelled.
    pub(super) async fn run(
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
    pub(super) fn write(
        &self,
        length: u64,
        mut written: BTreeMap<UnitId, usize>,
    ) -> Result<BTreeMap<UnitId, usize>, ScoreError> {
        let mut results = self.results(length)?;
        for unit in self.plan.units() {
            let Some(results) = results.remove(&unit.id) else { continue };
            if written.insert(unit.id, results.len()) != Some(results.len()) {
                self.write_unit(unit, &results)?;
            }
        }
        Ok(written)
    }

    /// The first durable result of each sample; without units whose predictions another evaluator wrote.
    fn results(&self, length: u64) -> Result<BTreeMap<UnitId, Results>, ScoreError> {
        let mut recorded = self.recorded.clone();
        recorded.insert(self.segment.clone(), length);
        let mut units: BTreeMap<UnitId, Results> = BTreeMap::new();
        let mut adopted = BTreeSet::new();
        for entry in self.ledger.load(&recorded)?.entries {
            if entry.worker == ADOPTED {
                adopted.insert(UnitId(entry.unit));
            }
            let result = (entry.kind() == Kind::Sample).then(|| v1::SampleResult::decode(entry.payload.as_slice()));
            if let Some(Ok(Ok(result))) = result.map(|result| result.map(SampleResult::try_from)) {
                units.entry(UnitId(entry.unit)).or_default().entry(result.index).or_insert(result);
            }
        }
        units.retain(|unit, _| !adopted.contains(unit));
        Ok(units)
    }

    fn write_unit(&self, unit: Unit<'_>, results: &Results) -> Result<(), ScoreError> {
        let meta = unit.model.meta();
        let mut predictions = Vec::new();
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
                        (sample, prediction_record(unit.dataset, meta.as_ref(), &part, sample, result))
                    };
                    known.map(record).map(|(sample, record)| Ok((sample.index, record))).collect()
                }
            }
        });
        write_records(&mut predictions, records)?;
        let (model, dataset) = (&unit.model.abbr, &unit.dataset.abbr);
        if results.len() < unit.dataset.samples as usize {
            return Ok(write_atomically(&self.folder.unfinished_predictions(model, dataset), &predictions)?);
        }
        write_atomically(&self.folder.predictions(model, dataset), &predictions)?;
        self.folder.remove_unfinished_predictions(model, dataset);
        Ok(())
    }
}
