//! The plan of the second stage: the programs that the recorded answers are, cut into parts like prompts.
//!
//! It follows from the run's plan and its ledger alone, so that every resumed master makes the same one. Its samples stand
//! at the same positions as those of the first stage; one without an answer has no program, and its result is known.

use compass_common::encode;
use compass_eval::evaluator::programs;
use compass_plan::prompt::ShotFormat;
use compass_plan::{
    Body, DatasetPlan, DuplicateGroups, InferSpec, ModelKind, ModelPlan, PLAN_FORMAT, Plan, Program, Sample, Unit,
    entries_of_all,
};
use compass_run_folder::{PartCutter, PlanError, PlanFiles, Planned, RunFolder, read_part};
use compass_scoring::UnitEntries;
use compass_types::ids::UnitId;
use compass_types::result::{Outcome, PromptFit, SampleResult};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The units of `plan` whose answers are programs, in order; unit `i` of the second plan is the `i`-th of them.
pub fn executing(plan: &Plan) -> impl Iterator<Item = Unit<'_>> {
    plan.units().filter(|unit| unit.dataset.eval.evaluator.executes())
}

/// The second plan, and the results of samples without a program.
///
/// # Errors
/// A part of the plan cannot be read.
pub fn plan_execution(
    folder: &RunFolder,
    plan: &Plan,
    units: &BTreeMap<UnitId, UnitEntries>,
) -> Result<(Planned, Vec<(UnitId, SampleResult)>), PlanError> {
    let mut parts = PlanFiles::default();
    let mut known = Vec::new();
    let mut datasets = Vec::new();
    for (at, unit) in executing(plan).enumerate() {
        let results = units.get(&unit.id).map(|entries| &entries.results);
        let eval = unit.eval();
        let mut samples = Vec::new();
        for part in &unit.dataset.parts {
            for sample in &read_part(folder, part)?.samples {
                let result = results.and_then(|results| results.get(&sample.index));
                let programs = result.and_then(|result| programs(sample, result, &eval).ok());
                let programs = programs.unwrap_or_default();
                if programs.is_empty() {
                    let (index, outcome) = (sample.index, Outcome::Executed(Vec::new()));
                    known.push((UnitId(at as u32), SampleResult { index, fit: PromptFit::default(), outcome }));
                }
                let gold = named(eval.evaluator.reference(&sample.gold));
                samples.push(Sample { index: sample.index, gold, shots: Vec::new(), body: Body::Execute { programs } });
            }
        }
        let described = dataset(&unit, &samples);
        let mut cutter = PartCutter::default();
        for sample in samples {
            cutter.add(sample, &[], &mut parts)?;
        }
        datasets.push(DatasetPlan { parts: cutter.finish(&mut parts)?, ..described });
    }
    // Of no weight and no name of its own: what a program gives depends on the program.
    let models = vec![ModelPlan::new("sandbox", ModelKind::Sandbox, "")];
    let plan = Plan {
        format: PLAN_FORMAT,
        config: plan.config,
        models,
        datasets,
        duplicates: None,
        left_out: Default::default(),
    };
    let head = encode::pretty_json("the plan", &plan)?;
    Ok((Planned { plan, head, parts, duplicates: DuplicateGroups::default() }, known))
}

/// A gold answer as far as a worker's fold needs it: the task that answers are grouped by.
fn named(reference: &Value) -> Value {
    json!({ "task_id": reference.get("task_id").unwrap_or(reference) })
}

/// The data set of programs that answers of `unit` are, without its parts.
fn dataset(unit: &Unit<'_>, samples: &[Sample]) -> DatasetPlan {
    let programs = |sample: &Sample| match &sample.body {
        Body::Execute { programs } => programs.iter().map(Program::characters).sum(),
        _ => 0,
    };
    let characters = samples.iter().map(programs).sum();
    DatasetPlan {
        abbr: format!("{}/{}", unit.model.abbr, unit.dataset.abbr),
        version: unit.dataset.version.clone(),
        infer: InferSpec::Execute,
        shot_format: ShotFormat::default(),
        eval: unit.eval(),
        samples: samples.len() as u32,
        characters,
        prefix_runs: Vec::new(),
        labels: None,
        own_questions: 0,
        entries: entries_of_all(&InferSpec::Execute, samples.iter().map(|sample| &sample.body)),
        parts: Vec::new(),
    }
}

/// The second plan as far as it is known before there are answers: for `--dry-run`.
pub fn outline(plan: &Plan) -> Plan {
    let dataset = |unit: Unit<'_>| DatasetPlan { characters: 0, ..dataset(&unit, &[]) };
    let datasets = executing(plan).map(|unit| DatasetPlan { samples: unit.dataset.samples, ..dataset(unit) }).collect();
    let models = vec![ModelPlan::new("sandbox", ModelKind::Sandbox, "")];
    Plan { format: PLAN_FORMAT, config: plan.config, models, datasets, duplicates: None, left_out: Default::default() }
}

/// Returns whether any data set's answers are programs.
pub fn has_programs(plan: &Plan) -> bool {
    executing(plan).next().is_some()
}
