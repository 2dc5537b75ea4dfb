//! Samples and results for the tests of evaluators, documents and summaries.

use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{Prompt, Segment, ShotFormat};
use compass_plan::{Body, DatasetPlan, EvalSpec, InferSpec, OptionPrompt, OptionText, Sample};
use compass_types::result::{Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::Value;

pub(crate) fn acc() -> EvalSpec {
    EvalSpec::new(EvaluatorSpec::Acc)
}

pub(crate) fn dataset(abbr: &str, infer: InferSpec, samples: u32) -> DatasetPlan {
    DatasetPlan {
        abbr: abbr.into(),
        version: "1cf9f0".into(),
        infer,
        shot_format: ShotFormat { separator: "\n".into(), end: "\n".into() },
        eval: acc(),
        samples,
        characters: 0,
        prefix_runs: Vec::new(),
        labels: None,
        own_questions: 0,
        entries: Vec::new(),
        parts: Vec::new(),
    }
}

fn with_shots(text: &str) -> Prompt {
    Prompt(vec![
        Segment::Header("H: ".into()),
        Segment::Shots,
        Segment::Question("Q: ".into()),
        Segment::Option(text.into()),
    ])
}

fn sample(index: u32, gold: Value, body: Body) -> Sample {
    Sample { index, gold, shots: Vec::new(), body }
}

pub(crate) fn ppl(index: u32, gold: Value, labels: &[Value]) -> Sample {
    let option = |label: &Value| OptionPrompt {
        label: label.clone(),
        prompt: with_shots(&format!("answer é {label}")),
        answer: None,
    };
    sample(index, gold, Body::Ppl { options: labels.iter().map(option).collect() })
}

pub(crate) fn loglikelihood(index: u32, gold: Value, answers: &[&str]) -> Sample {
    let option = |(at, answer): (usize, &&str)| OptionText {
        context: None,
        delimiter: 0,
        unconditional: false,
        label: at.into(),
        continuation: format!(" {answer}"),
        length: answer.chars().count() as u32,
    };
    let options = answers.iter().enumerate().map(option).collect();
    sample(index, gold, Body::Loglikelihood { context: with_shots("context"), options })
}

pub(crate) fn generate(index: u32, gold: Value) -> Sample {
    sample(index, gold, Body::Gen { prompt: with_shots("go on") })
}

pub(crate) fn result(index: u32, outcome: Outcome) -> SampleResult {
    SampleResult {
        index,
        fit: PromptFit { shots_kept: 0, tokens: 9, truncated_from: 0, ..PromptFit::default() },
        outcome,
    }
}

pub(crate) fn ppl_result(index: u32, scores: &[(f64, u32)]) -> SampleResult {
    let scores = scores.iter().map(|&(nll_sum, tokens)| PplScore { nll_sum, tokens, normalizer: None }).collect();
    result(index, Outcome::Ppl(scores))
}

pub(crate) fn loglikelihood_result(index: u32, sums: &[f64]) -> SampleResult {
    let score = |&sum: &f64| LoglikelihoodScore { sum, tokens: 2, is_greedy: false };
    result(index, Outcome::Loglikelihood(sums.iter().map(score).collect()))
}

pub(crate) fn generated(index: u32, text: &str) -> SampleResult {
    result(index, Outcome::Generated(vec![Generation::new(text, 3, Finish::Stop)]))
}

pub(crate) fn failed(index: u32, reason: &str) -> SampleResult {
    SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Failed { reason: reason.into() } }
}
