//! Made-up answers to every sample of a plan, and their scores.

use compass_eval::evaluator::{Accumulator, programs};
use compass_plan::{Body, DatasetPlan, InferSpec, Part, Sample};
use compass_pyfmt::python_str;
use compass_run_folder::Planned;
use compass_types::result::{
    Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, RollingScore, SampleResult,
};
use serde_json::Value;

/// The parts of a data set.
pub(super) fn parts(served: &Planned, dataset: &DatasetPlan) -> Vec<Part> {
    let part = |bytes: Vec<u8>| serde_json::from_slice(&bytes).ok();
    dataset.parts.iter().filter_map(|at| served.parts.get(&at.digest).and_then(part)).collect()
}

/// Scores made-up answers to every data set.
///
/// # Errors
/// A data set of which no sample has a score, or whose metrics are not all numbers.
pub(super) fn score_all(served: &Planned) -> Result<(), String> {
    served.plan.datasets.iter().try_for_each(|dataset| score(served, dataset))
}

fn score(served: &Planned, dataset: &DatasetPlan) -> Result<(), String> {
    let mut total = Accumulator::new(&dataset.eval);
    let mut runnable = false;
    for part in parts(served, dataset) {
        for sample in &part.samples {
            let result = made(dataset, sample);
            if dataset.eval.evaluator.executes() {
                // What the answers are as programs; a sandbox would run them.
                runnable |= programs(sample, &result, &dataset.eval).is_ok();
            } else {
                total.observe(sample, &result);
            }
        }
    }
    let metrics = total.finish();
    let is_number = metrics.values.iter().all(|metric| metric.value.is_finite());
    let has_scores = metrics.counts.scored > 0 && !metrics.values.is_empty() && is_number;
    match has_scores || runnable {
        true => Ok(()),
        false if !is_number => Err(format!("a metric of `{}` is not a number", dataset.abbr)),
        false => Err(format!("none of the samples of `{}` has a score", dataset.abbr)),
    }
}

fn made(dataset: &DatasetPlan, sample: &Sample) -> SampleResult {
    let draw = |at: usize| f64::from((sample.index.wrapping_mul(7) + at as u32 * 5) % 11) / 8.0 + 0.5;
    let gold = match &sample.gold {
        Value::Array(items) => items.first().map(python_str).unwrap_or_default(),
        gold => python_str(gold),
    };
    let text = match sample.index % 4 {
        0 => gold,
        1 => format!("The answer is {gold}."),
        2 => format!("```python\nprint({})\n```", sample.index),
        _ => "The answer is B".to_owned(),
    };
    let generated = |text: &str| Generation::new(text, 1, Finish::Eos);
    let outcome = match &sample.body {
        Body::Gen { .. } if dataset.infer == InferSpec::PplOnly => {
            Outcome::Ppl(vec![PplScore { nll_sum: draw(0), tokens: 1, normalizer: None }])
        }
        Body::Ppl { options } => {
            let score = |at| PplScore { nll_sum: draw(at), tokens: 1, normalizer: None };
            Outcome::Ppl((0..options.len()).map(score).collect())
        }
        Body::Loglikelihood { options, .. } => {
            let score = |at| LoglikelihoodScore { sum: -draw(at), tokens: 1, is_greedy: false };
            Outcome::Loglikelihood((0..options.len()).map(score).collect())
        }
        Body::Clp { choices, .. } => Outcome::Clp((0..choices.len()).map(|at| -draw(at)).collect()),
        Body::Rolling { .. } | Body::Windows { .. } => Outcome::Rolling(RollingScore { sum: -draw(0), tokens: 1 }),
        Body::Chat { turns } => {
            let answers = turns.iter().filter(|turn| turn.role == "assistant");
            Outcome::Generated(answers.map(|_| generated(&text)).collect())
        }
        Body::Gen { .. } | Body::Execute { .. } => Outcome::Generated(vec![generated(&text)]),
    };
    SampleResult { index: sample.index, fit: PromptFit::default(), outcome }
}
