//! A run that is open: its plan, its results, and the marks of the units that were asked for.

use super::key::Key;
use super::logs::{log_of, logs};
use super::marks::Marks;
use compass_eval::evaluator::judge;
use compass_eval::report::prediction_record;
use compass_plan::Unit;
use compass_planning::RecordedRun;
use compass_pyfmt::python_str;
use compass_run_folder::RunFolder;
use compass_scoring::ScoreError;
use compass_types::ids::UnitId;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A run as it was recorded when it was opened.
#[derive(Debug)]
pub struct OpenedRun {
    pub folder: RunFolder,
    pub recorded: RecordedRun,
    marks: Mutex<BTreeMap<UnitId, Arc<Vec<Marks>>>>,
}

/// Everything about one sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleFacts {
    pub model: String,
    pub dataset: String,
    pub index: u32,
    pub marks: Vec<&'static str>,
    /// The worker that computed it.
    pub worker: Option<String>,
    /// The name of its log below `logs/`, where that is kept.
    pub log: Option<String>,
    /// Answer after postprocessing, `None` without a postprocessor; then the answers that are accepted.
    pub processed: Option<String>,
    pub accepted: Vec<String>,
    /// Its record in `predictions/`; `None` without a result.
    pub record: Option<Value>,
}

impl OpenedRun {
    /// Reads a run. Waits for the disk.
    ///
    /// # Errors
    /// Its plan or its ledger is damaged.
    pub fn read(folder: RunFolder) -> Result<Self, ScoreError> {
        let recorded = RecordedRun::read(&folder)?;
        Ok(Self { folder, recorded, marks: Mutex::default() })
    }

    /// The marks of a unit's samples by index, made when they are first asked for.
    ///
    /// # Errors
    /// A part of the plan is damaged.
    pub(super) fn marks(&self, unit: Unit<'_>) -> Result<Arc<Vec<Marks>>, ScoreError> {
        let known = self.marks.lock().unwrap_or_else(PoisonError::into_inner).get(&unit.id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let spec = unit.eval();
        let mut marks = Vec::with_capacity(unit.dataset.samples as usize);
        self.recorded.samples(unit, |_, sample, result| marks.push(Marks::of(sample, result, &spec)))?;
        let marks = Arc::new(marks);
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).insert(unit.id, marks.clone());
        Ok(marks)
    }

    /// Returns everything about one sample; `None` if it does not exist.
    ///
    /// # Errors
    /// A part of the plan is damaged.
    pub fn sample(&self, key: Key) -> Result<Option<SampleFacts>, ScoreError> {
        let Some(unit) = self.recorded.plan.unit(UnitId(key.unit)) else { return Ok(None) };
        let Some(part) = unit.dataset.part_of(key.index) else { return Ok(None) };
        let (meta, spec, logs) = (unit.model.meta(), unit.eval(), logs(&self.folder));
        let mut found = None;
        self.recorded.part(unit, part, |part, sample, recorded| {
            if sample.index != key.index {
                return;
            }
            let result = recorded.map(|(result, _)| result);
            let score = result.and_then(|result| judge(sample, result, &spec).ok());
            found = Some(SampleFacts {
                model: unit.model.abbr.clone(),
                dataset: unit.dataset.abbr.clone(),
                index: key.index,
                marks: Marks::of(sample, result, &spec).names(),
                worker: recorded.map(|(_, worker)| worker.to_owned()),
                log: recorded.and_then(|(_, worker)| log_of(worker, &logs).map(str::to_owned)),
                processed: score
                    .as_ref()
                    .filter(|score| !score.processed.is_null())
                    .map(|it| python_str(&it.processed)),
                accepted: score.map(|score| score.answers).unwrap_or_default(),
                record: result.map(|result| {
                    prediction_record(unit.dataset, meta.as_ref(), part, sample, result, unit.model.thinking.keep)
                }),
            });
        })?;
        Ok(found)
    }
}
