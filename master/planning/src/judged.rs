//! A recorded run, read sample by sample with its results: what comparisons of runs are made of.
//!
//! No store is asked: what was written down at the end of a run says which bytes of its ledger exist, else checksums do.
//! Nothing is written. One part of the plan is in memory at a time, and of the ledger the results as they were recorded.

use super::execution_plan::plan_execution;
use super::pins::recorded_pin;
use compass_eval::evaluator::executed;
use compass_ledger::{Kind, Ledger, parse_result};
use compass_plan::weights::Pin;
use compass_plan::{Part, PartRef, Plan, Sample, Unit};
use compass_run_folder::{PlanError, RunFolder, check_part, read_head, read_part};
use compass_scoring::{Answers, ScoreError};
use compass_types::ids::{Digest, ModelId, UnitId};
use compass_types::result::SampleResult;
use std::collections::BTreeMap;

/// A run that was recorded.
#[derive(Debug)]
pub struct RecordedRun {
    folder: RunFolder,
    pub plan: Plan,
    pub digest: Digest,
    /// Pins of its models, by position.
    pub pins: BTreeMap<ModelId, Pin>,
    /// By unit and index of the sample.
    results: BTreeMap<UnitId, Vec<Option<Kept>>>,
    /// Names of the workers whose results these are.
    workers: Vec<String>,
    /// Results of answers that ran as programs.
    executions: BTreeMap<UnitId, BTreeMap<u32, SampleResult>>,
}

/// A result as it was recorded.
#[derive(Clone, Debug)]
struct Kept {
    /// As protobuf.
    payload: Box<[u8]>,
    /// Position of its worker's name.
    worker: u32,
}

impl RecordedRun {
    /// Reads the run in `folder`.
    ///
    /// # Errors
    /// Its plan or its ledger is damaged or missing.
    pub fn read(folder: &RunFolder) -> Result<Self, ScoreError> {
        let (plan, digest) = read_head(folder)?;
        let (ledger, everything) = (Ledger::new(folder.ledger(), digest), BTreeMap::new());
        let (mut pins, mut results) = (BTreeMap::new(), BTreeMap::new());
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        ledger.read(&everything, &mut |entry| {
            if let Some((model, pin)) = recorded_pin(&entry) {
                pins.entry(model).or_insert(pin);
            }
            let Some(mark) = entry.mark().filter(|_| entry.kind() == Kind::Sample) else { return };
            let unit = UnitId(entry.unit);
            let Some(samples) = plan.unit(unit).map(|unit| unit.dataset.samples as usize) else { return };
            let results = results.entry(unit).or_insert_with(|| vec![None; samples]);
            let next = numbers.len() as u32;
            // The first result of a sample counts.
            if let Some(result @ None) = results.get_mut(mark.index as usize) {
                let worker = *numbers.entry(entry.worker).or_insert(next);
                *result = Some(Kept { payload: entry.payload.into(), worker });
            }
        })?;
        pins.extend(plan.models().filter_map(|(at, model)| Some((at, model.pin.clone()?))));
        let mut run = Self {
            folder: folder.clone(),
            plan,
            digest,
            pins,
            results,
            workers: Vec::new(),
            executions: BTreeMap::new(),
        };
        if super::execution_plan::has_programs(&run.plan) {
            run.read_executions(Answers::read(folder, digest, &everything)?)?;
        }
        let mut workers: Vec<_> = numbers.into_iter().map(|(name, number)| (number, name)).collect();
        workers.sort();
        run.workers = workers.into_iter().map(|(_, name)| name).collect();
        Ok(run)
    }

    fn read_executions(&mut self, answers: Answers) -> Result<(), ScoreError> {
        let (planned, _) = plan_execution(&self.folder, &self.plan, &answers.0)?;
        let digest = Digest::of(&planned.head);
        let folder = self.folder.execution(&digest);
        if !folder.plan().join("job.json").is_file() {
            return Ok(());
        }
        let mut ran = Answers::read(&folder, digest, &BTreeMap::new())?.0;
        for (at, unit) in super::execution_plan::executing(&self.plan).enumerate() {
            let results = ran.remove(&UnitId(at as u32)).map(|entries| entries.results).unwrap_or_default();
            self.executions.insert(unit.id, results);
        }
        Ok(())
    }

    /// The samples of a unit in order of index, each with its part and its result, where it has one.
    ///
    /// # Errors
    /// A part of the plan is damaged or missing.
    pub fn samples(
        &self,
        unit: Unit<'_>,
        mut observe: impl FnMut(&Part, &Sample, Option<&SampleResult>),
    ) -> Result<(), PlanError> {
        for part in &unit.dataset.parts {
            self.part(unit, part, |part, sample, recorded| observe(part, sample, recorded.map(|(result, _)| result)))?;
        }
        Ok(())
    }

    /// The samples of one part of a unit, each with its part, and where it has one its result and the worker's name.
    ///
    /// # Errors
    /// The part is damaged or missing.
    pub fn part(
        &self,
        unit: Unit<'_>,
        part: &PartRef,
        mut observe: impl FnMut(&Part, &Sample, Option<(&SampleResult, &str)>),
    ) -> Result<(), PlanError> {
        let part = read_part(&self.folder, part)?;
        for sample in &part.samples {
            let found = self.result(unit.id, sample);
            observe(&part, sample, found.as_ref().map(|(result, worker)| (result, *worker)));
        }
        Ok(())
    }

    /// A part of the plan.
    ///
    /// # Errors
    /// It is damaged or missing.
    pub fn plan_part(&self, part: &PartRef) -> Result<Part, PlanError> {
        read_part(&self.folder, part)
    }

    /// Checks that a part of the plan is there and whole, without reading what it says.
    ///
    /// # Errors
    /// It is damaged or missing.
    pub fn check_plan_part(&self, part: &PartRef) -> Result<(), PlanError> {
        check_part(&self.folder, part)
    }

    /// The result of a sample where it has one, and the name of the worker.
    pub fn result(&self, unit: UnitId, sample: &Sample) -> Option<(SampleResult, &str)> {
        let kept = self.results.get(&unit)?.get(sample.index as usize)?.as_ref()?;
        let result = parse_result(&kept.payload)?;
        let result = match self.executions.get(&unit) {
            Some(ran) => executed(&result, ran.get(&sample.index)),
            None => result,
        };
        Some((result, self.workers.get(kept.worker as usize).map_or("", String::as_str)))
    }

    /// Returns whether nothing at all was recorded.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plans::{damaged_run, result, sample};

    #[test]
    fn damaged_results_are_none_and_hold_the_place_of_their_sample() {
        let work_dir = tempfile::tempdir().unwrap();
        let run = RecordedRun::read(&damaged_run(work_dir.path()).0).unwrap();
        let known = [0, 1].map(|index| run.result(UnitId(0), &sample(index)));
        assert_eq!(known, [Some((result(0, 0), "w")), None]);
    }
}
