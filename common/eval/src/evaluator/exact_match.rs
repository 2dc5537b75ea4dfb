//! lm-eval's `exact_match` of generated text.

use super::Unscored;
use super::metric_contribution::Aggregation;
use super::scored_answer::{AnswerScore, ScoredAnswer};
use compass_metrics::overlap::ExactMatch;
use compass_plan::evaluation::ExactMatchSpec;
use regex::Regex;

/// Scores whether the answer equals any gold, once what is to be ignored is gone.
///
/// # Errors
/// A pattern to ignore is not a valid pattern; a configuration that was read has no invalid pattern.
pub(super) fn judge(question: &ScoredAnswer<'_>, spec: &ExactMatchSpec) -> Result<AnswerScore, Unscored> {
    let patterns: Result<Vec<Regex>, _> = spec.regexes_to_ignore.iter().map(|pattern| Regex::new(pattern)).collect();
    let exact = ExactMatch {
        regexes_to_ignore: patterns.map_err(|error| Unscored(error.to_string()))?,
        ignore_case: spec.ignore_case,
        ignore_punctuation: spec.ignore_punctuation,
        ignore_numbers: spec.ignore_numbers,
    };
    let (answer, golds) = (question.text(), question.gold_texts());
    let correct = golds.iter().any(|gold| exact.matches(&answer, gold));
    Ok(AnswerScore::proportion("exact_match", Aggregation::Proportion, correct, golds))
}
