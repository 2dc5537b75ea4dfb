//! Short answers against references: SQuAD, TyDi QA, open questions, needles and RULER.

use super::exact_match::{normalize_answer, token_f1};
use crate::text::{split, strip};
use compass_postprocess::general;

// SQuAD 1.1: exact match and token F1 (Rajpurkar et al. 2016), as Hugging Face's `squad` metric computes them.

/// 1 when the normalised prediction equals a normalised reference, else 0; the metric is 100 times the mean.
pub fn squad_exact_match(prediction: &str, references: &[&str]) -> f64 {
    let prediction = normalize_answer(prediction);
    f64::from(references.iter().any(|reference| normalize_answer(reference) == prediction))
}

/// The greatest token F1 of the prediction with any reference, in 0..=1; 0 without references.
///
/// OpenCompass's `SquadEvaluator` first cuts the prediction at its first newline, and has one reference per sample.
pub fn squad_f1(prediction: &str, references: &[&str]) -> f64 {
    let prediction = normalize_answer(prediction);
    let predicted: Vec<&str> = split(&prediction).collect();
    let f1 = |reference: &&str| {
        let reference = normalize_answer(reference);
        token_f1(&predicted, &split(&reference).collect::<Vec<_>>())
    };
    references.iter().map(f1).fold(0.0, f64::max)
}

// TyDi QA: OpenCompass's `TydiQAEvaluator`.

/// Scores the first line of the prediction, in lower case: 1 when it equals an answer after the general postprocess, else 0, and
/// the greatest token F1 with any, in 0..=1. The answers keep their case, so that capitals in them match nothing.
pub fn tydi_qa(prediction: &str, answers: &[&str]) -> (f64, f64) {
    let predicted = general(&prediction.split('\n').next().unwrap_or_default().to_lowercase());
    let words: Vec<&str> = split(&predicted).collect();
    let answers: Vec<String> = answers.iter().map(|answer| general(answer)).collect();
    let f1 = |answer: &String| token_f1(&words, &split(answer).collect::<Vec<_>>());
    let exact = answers.contains(&predicted);
    (f64::from(exact), answers.iter().map(f1).fold(0.0, f64::max))
}

// Open questions with several right answers: OpenCompass's TriviaQA, Natural Questions and SQuAD 2.0 evaluators.

/// `TriviaQAEvaluator`: whether any processed answer is a substring of the processed prediction.
pub fn trivia_qa(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(strip(prediction));
    let mut rest = line.as_str();
    for mark in ["answer is", "a:", "answer:"] {
        rest = after_last(rest, mark);
    }
    contains_any(&general(strip(rest)), answers)
}

/// `NQEvaluator`: as [`trivia_qa`], but only `answer is` is a mark.
pub fn natural_questions(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(strip(prediction));
    contains_any(&general(after_last(&line, "answer is")), answers)
}

/// `SQuAD20Evaluator`: whether the processed prediction equals a processed answer.
pub fn squad20(prediction: &str, answers: &[&str]) -> bool {
    let line = first_line_lower(prediction);
    let prediction = general(after_last(&line, "answer is"));
    answers.iter().any(|answer| general(answer).to_lowercase() == prediction)
}

fn contains_any(prediction: &str, answers: &[&str]) -> bool {
    answers.iter().any(|answer| prediction.contains(&general(answer).to_lowercase()))
}

fn first_line_lower(text: &str) -> String {
    text.split('\n').next().unwrap_or_default().to_lowercase()
}

fn after_last<'a>(text: &'a str, mark: &str) -> &'a str {
    text.rsplit(mark).next().unwrap_or(text)
}

// Whether what is asked for stands in the output: RULER and NeedleBench.

/// RULER's share of the answers that are part of the prediction in any case, in 0..=1; `None` without answers.
pub fn ruler_share(prediction: &str, answers: &[&str]) -> Option<f64> {
    let prediction = prediction.to_lowercase();
    let held = answers.iter().filter(|answer| prediction.contains(&answer.to_lowercase())).count();
    (!answers.is_empty()).then(|| held as f64 / answers.len() as f64)
}

/// RULER's question answering: 1 when any answer is part of the prediction in any case, else 0; `None` without answers.
pub fn ruler_any(prediction: &str, answers: &[&str]) -> Option<f64> {
    ruler_share(prediction, answers).map(|share| f64::from(share > 0.0))
}

/// `NeedleBenchOriginEvaluator`: whether the keyword is part of the prediction. References are `text*keyword`; `None` for
/// another form.
pub fn needle_found(prediction: &str, reference: &str) -> Option<bool> {
    reference.split('*').nth(1).map(|keyword| prediction.contains(keyword))
}
