//! ROUGE-L as the `rouge` package computes it (summary level, over sets of words), and LongBench's use of it.

use super::lcs::{Tie, lcs_places};
use super::score::RougeScore;
use crate::language::Language;
use crate::text::collapse;
use compass_postprocess::words;
use std::collections::HashSet;

/// `rouge.Rouge().get_scores(...)['rouge-l']`; `None` where it raises, that is when a side has no sentence.
///
/// Sentences end at full stops. Lengths and matches count distinct words; matches are the words of the union of longest
/// common subsequences. The peer recurses once per word and fails beyond Python's recursion limit; here there is none.
pub fn rouge_l_of_sets(prediction: &str, reference: &str) -> Option<RougeScore> {
    let predicted = sentences(prediction);
    let target = sentences(reference);
    if predicted.is_empty() || target.is_empty() {
        return None;
    }
    let mut union = HashSet::new();
    for sentence in &target {
        for other in &predicted {
            union.extend(lcs_places(sentence, other, Tie::Right).into_iter().map(|place| sentence[place].as_str()));
        }
    }
    let distinct = |sentences: &[Vec<String>]| sentences.iter().flatten().collect::<HashSet<_>>().len() as f64;
    let shared = union.len() as f64;
    Some(RougeScore::padded(shared / distinct(&predicted), shared / distinct(&target)))
}

/// A blank sentence is one empty word, as `''.split(' ')` has it.
fn sentences(text: &str) -> Vec<Vec<String>> {
    let sentences = text.split('.').filter(|sentence| !sentence.is_empty());
    sentences.map(|sentence| collapse(sentence).split(' ').map(String::from).collect()).collect()
}

/// `LongBenchRougeEvaluator`: the greatest ROUGE-L F-measure over the references, in 0..=1.
///
/// In Chinese both sides are cut into words first; the prediction is cut once more for each further reference, as there.
pub fn longbench_rouge(prediction: &str, references: &[&str], language: Language) -> f64 {
    let spaced = |text: &str| match language {
        Language::En => text.to_string(),
        Language::Zh => words(text).join(" "),
    };
    let mut prediction = prediction.to_string();
    let mut best = 0.0_f64;
    for reference in references {
        prediction = spaced(&prediction);
        best = best.max(rouge_l_of_sets(&prediction, &spaced(reference)).map_or(0.0, |score| score.fmeasure));
    }
    best
}
