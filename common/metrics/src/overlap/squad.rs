//! SQuAD 1.1: exact match and token F1 (Rajpurkar et al. 2016), as Hugging Face's `squad` metric computes them.

use super::counter::token_f1;
use super::normalize::normalize_answer;
use crate::text::split;

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
