//! LongBench (Bai et al. 2023) as OpenCompass scores it: question answering and classification.

use super::counter::token_f1;
use super::normalize::{normalize_answer, normalize_zh_answer};
use crate::language::Language;
use crate::sum::sum;
use crate::text::split;
use compass_postprocess::words;

/// `LongBenchF1Evaluator`: the greatest token F1 over the references, in 0..=1; the metric is 100 times the mean.
///
/// Tokens are SQuAD's in English; in Chinese, jieba's words without punctuation.
pub fn longbench_f1(prediction: &str, references: &[&str], language: Language) -> f64 {
    let tokens = |text: &str| match language {
        Language::En => split(&normalize_answer(text)).map(String::from).collect::<Vec<_>>(),
        Language::Zh => words(text).into_iter().map(normalize_zh_answer).filter(|token| !token.is_empty()).collect(),
    };
    let predicted = tokens(prediction);
    references.iter().map(|reference| token_f1(&predicted, &tokens(reference))).fold(0.0, f64::max)
}

/// `LongBenchClassificationEvaluator`: for each reference that the prediction names, one over the classes it names.
///
/// Named classes that are a proper part of the reference are dropped first, while the list is walked, so that the class
/// after a dropped one is never looked at: the peer does so and its numbers rest on it.
pub fn longbench_classification(prediction: &str, references: &[&str], classes: &[&str]) -> f64 {
    let score = |reference: &&str| {
        let mut named: Vec<&str> = classes.iter().copied().filter(|class| prediction.contains(class)).collect();
        let mut at = 0;
        while at < named.len() {
            let class = named[at];
            if reference.contains(class) && class != *reference {
                let first = named.iter().position(|&other| other == class).unwrap_or(at);
                named.remove(first);
            }
            at += 1;
        }
        if named.contains(reference) { 1.0 / named.len() as f64 } else { 0.0 }
    };
    sum(references.iter().map(score))
}
