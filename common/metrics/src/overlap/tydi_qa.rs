//! TyDi QA: OpenCompass's `TydiQAEvaluator`.

use super::counter::token_f1;
use crate::text::split;
use compass_postprocess::general;

/// Of the first line of the prediction, in lower case: 1 when it equals an answer after the general postprocess, else 0,
/// and the greatest token F1 with any, in 0..=1. The answers keep their case, so that capitals in them match nothing.
pub fn tydi_qa(prediction: &str, answers: &[&str]) -> (f64, f64) {
    let predicted = general(&prediction.split('\n').next().unwrap_or_default().to_lowercase());
    let words: Vec<&str> = split(&predicted).collect();
    let answers: Vec<String> = answers.iter().map(|answer| general(answer)).collect();
    let f1 = |answer: &String| token_f1(&words, &split(answer).collect::<Vec<_>>());
    let exact = answers.contains(&predicted);
    (f64::from(exact), answers.iter().map(f1).fold(0.0, f64::max))
}
