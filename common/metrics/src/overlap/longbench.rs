//! LongBench (Bai et al. 2023) as OpenCompass scores it: question answering and classification.

use super::edit_distance::edit_ratio_percent;
use super::exact_match::{normalize_answer, normalize_zh_answer, token_f1};
use crate::language::Language;
use crate::statistics::sum;
use crate::text::{Pattern, split};
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

// LongBench's code completion: how alike the first line of code and the reference are.

/// `LongBenchCodeSimEvaluator`: the greatest edit similarity over the references, in 0..=1.
///
/// Compared is the first line without a back quote, `#` or `//`; an empty text when there is none.
pub fn longbench_code_similarity(prediction: &str, references: &[&str]) -> f64 {
    let is_code = |line: &&str| !line.contains('`') && !line.contains('#') && !line.contains("//");
    let line = prediction.trim_start_matches('\n').split('\n').find(is_code).unwrap_or_default();
    let similarity = |reference: &&str| f64::from(edit_ratio_percent(line, reference)) / 100.0;
    references.iter().map(similarity).fold(0.0, f64::max)
}

// LongBench's synthetic tasks: counting passages and naming the passage.

static NUMBER: Pattern = Pattern::new(r"\d+");

/// `LongBenchCountEvaluator`: for each reference, the share of the prediction's numbers that are written like it.
pub fn longbench_count(prediction: &str, references: &[&str]) -> f64 {
    sum(references.iter().map(|reference| share(prediction, reference)))
}

/// `LongBenchRetrievalEvaluator`: as [`longbench_count`] for the number after `Paragraph ` (`段落` in Chinese) in each
/// reference; a reference without one, which the peer fails on, counts 0.
pub fn longbench_retrieval(prediction: &str, references: &[&str], language: Language) -> f64 {
    static EN: Pattern = Pattern::new(r"Paragraph (\d+)");
    static ZH: Pattern = Pattern::new(r"段落(\d+)");
    let pattern = match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    };
    let id = |reference: &str| pattern.captures(reference).and_then(|found| Some(found.get(1)?.as_str().to_string()));
    sum(references.iter().filter_map(|reference| id(reference)).map(|id| share(prediction, &id)))
}

fn share(prediction: &str, reference: &str) -> f64 {
    let (right, all) = NUMBER
        .find_iter(prediction)
        .fold((0u32, 0u32), |(right, all), number| (right + u32::from(number.as_str() == reference), all + 1));
    if all == 0 { 0.0 } else { f64::from(right) / f64::from(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_a_number_is_a_plain_zero() {
        assert!(longbench_retrieval("3", &["no number"], Language::En).is_sign_positive());
        assert!(longbench_count("3", &[]).is_sign_positive());
    }
}
