//! Scores the trained model on its data sets through the engine, with the prompts of `deploy/demo/eval.toml`.

use super::text::DataFile;
use compass_engine::DeviceChoice;
use compass_plan::engine::{BatchSpec, Engine, EngineFault, Request};
use compass_plan::prompt::{Prompt, Segment, Shot, ShotFormat};
use compass_plan::{Body, GenSpec, InferSpec, ModelKind, ModelPlan, OptionPrompt, Sample};
use compass_types::result::{Outcome, PplScore, SampleResult};
use serde_json::{Value, json};
use std::path::Path;

/// Score of a data set in percent, and its number of rows.
pub(crate) struct Score {
    pub(crate) dataset: &'static str,
    pub(crate) percent: f64,
    pub(crate) rows: usize,
}

/// Makes the prompt of a row.
type ToBody<'a> = dyn Fn(&Value) -> Body + 'a;

/// Shots of `larger_ppl`: the first rows of its training file.
const SHOTS: usize = 5;

/// Returns the scores of the three data sets.
///
/// # Errors
/// An error of the engine.
pub(crate) fn score(model: &Path, files: &[DataFile], threads: u32) -> Result<Vec<Score>, EngineFault> {
    let rows = |name: &str| files.iter().find(|file| file.name == name).map_or(&[][..], |file| &file.rows);
    let mut engine = compass_engine::load(&plan(model), &DeviceChoice::Cpu, threads)?;
    let sums = rows("sums_test.jsonl");
    let generate = InferSpec::Gen(GenSpec { max_out_len: Some(8), stop: vec!["\n".into()], ..GenSpec::default() });
    let sum = |row: &Value| Body::Gen { prompt: Prompt::question(text(row, "question")) };
    let right = |row: &Value, result: &SampleResult| match &result.outcome {
        Outcome::Generated(generations) => generations.iter().all(|one| one.text.trim() == text(row, "answer")),
        _ => false,
    };
    let sums = percent("sums_gen", engine.as_mut(), &generate, sums, (&[], &sum), &right)?;
    let story = |row: &Value| {
        let option = |label: usize| format!("{} {}", text(row, "story"), text(row, &format!("ending{label}")));
        options((0..3).map(|label| vec![Segment::Question(option(label))]))
    };
    let stories =
        percent("stories_ppl", engine.as_mut(), &InferSpec::Ppl, rows("stories_test.jsonl"), (&[], &story), &least)?;
    let line =
        |row: &Value, label: usize| format!("Larger of {} and {}: {}", row["a"], row["b"], row[["a", "b"][label]]);
    let pool = rows("larger_train.jsonl").iter().take(SHOTS);
    let shots: Vec<String> = pool.map(|row| line(row, row["label"].as_u64().unwrap_or(0) as usize)).collect();
    let compare = |row: &Value| options((0..2).map(|label| vec![Segment::Shots, Segment::Question(line(row, label))]));
    let larger =
        percent("larger_ppl", engine.as_mut(), &InferSpec::Ppl, rows("larger_test.jsonl"), (&shots, &compare), &least)?;
    Ok(vec![sums, stories, larger])
}

fn plan(model: &Path) -> ModelPlan {
    let path = model.display().to_string();
    ModelPlan { max_out_len: 8, ..ModelPlan::new("demo", ModelKind::Hf, path) }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

fn options(prompts: impl Iterator<Item = Vec<Segment>>) -> Body {
    let option = |(label, segments): (usize, Vec<Segment>)| OptionPrompt {
        label: json!(label),
        prompt: Prompt(segments),
        answer: None,
    };
    Body::Ppl { options: prompts.enumerate().map(option).collect() }
}

/// Returns whether the option with the least `ppl` is the row's label.
fn least(row: &Value, result: &SampleResult) -> bool {
    let Outcome::Ppl(scores) = &result.outcome else { return false };
    let mean = |&at: &usize| scores.get(at).map_or(f64::INFINITY, PplScore::mean);
    let best = (0..scores.len()).min_by(|one, other| mean(one).total_cmp(&mean(other)));
    best.map(|at| at as u64) == row["label"].as_u64()
}

fn percent(
    dataset: &'static str,
    engine: &mut dyn Engine,
    infer: &InferSpec,
    rows: &[Value],
    (shots, body): (&[String], &ToBody<'_>),
    right: &dyn Fn(&Value, &SampleResult) -> bool,
) -> Result<Score, EngineFault> {
    let shot_format = ShotFormat { separator: "\n".into(), end: "\n".into() };
    let spec = BatchSpec { infer: infer.clone(), shot_format, meta_template: None, takes_programs: false };
    let sample = |(index, row)| Sample { index: index as u32, gold: Value::Null, shots: Vec::new(), body: body(row) };
    let samples: Vec<Sample> = rows.iter().enumerate().map(sample).collect();
    let shots: Vec<Shot> = shots.iter().map(|text| Shot::from(text.as_str())).collect();
    let shots: Vec<&Shot> = shots.iter().collect();
    let requests: Vec<Request<'_>> = samples.iter().map(|sample| Request::new(sample, shots.clone())).collect();
    let mut correct = 0;
    engine.run(&spec, &requests, &mut |result| {
        correct += usize::from(rows.get(result.index as usize).is_some_and(|row| right(row, &result)));
    })?;
    Ok(Score { dataset, percent: 100.0 * correct as f64 / rows.len().max(1) as f64, rows: rows.len() })
}
