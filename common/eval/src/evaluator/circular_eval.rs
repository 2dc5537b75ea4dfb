//! OpenCompass's CircularEval (`opencompass.datasets.circular.CircularEvaluator`), sample by sample: golds are
//! `{ answer, qid, circular_pattern, first_pattern }`.
//!
//! Its metrics are of three sets of askings: those in the order of the first row of the data set (`origin`), in a rotation of that
//! (`circular`), in any order of the same options (`all_possible`).

use super::Unscored;
use super::equality::python_eq;
use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use compass_plan::evaluation::{CIRCULAR_ANSWER, CIRCULAR_FIRST, CIRCULAR_PATTERN, CIRCULAR_QUESTION, Orders};
use compass_pyfmt::python_str;
use serde_json::Value;

/// Contribution of one order of a question to every metric that counts it.
///
/// # Errors
/// The gold answer is not of that form.
pub(super) fn judge(question: &ScoredAnswer<'_>, pattern: Orders) -> Result<AnswerScore, Unscored> {
    let missing = |key: &str| Unscored(format!("the gold answer has no `{key}`: are the rows those of `circular`?"));
    let part = |key: &str| question.gold.get(key).ok_or_else(|| missing(key));
    let order = |key: &str| part(key)?.as_array().ok_or_else(|| missing(key));
    let (gold, group) = (part(CIRCULAR_ANSWER)?, python_str(part(CIRCULAR_QUESTION)?));
    let (asked, first): (&Vec<Value>, &Vec<Value>) = (order(CIRCULAR_PATTERN)?, order(CIRCULAR_FIRST)?);
    let correct = python_eq(&question.prediction, gold);
    let item = || SampleValue::Attempts { group: group.clone(), right: u64::from(correct), of: 1 };
    // The name of a set, how many askings of one question it has, and whether this is one of them.
    let circular = ("circular", first.len(), Orders::Circular.has(first, asked));
    let all = ("all_possible", Orders::AllPossible.count(first.len()), Orders::AllPossible.has(first, asked));
    let sets = [("origin", 1, asked == first), circular, all];
    let used = if pattern == Orders::AllPossible { 3 } else { 2 };
    let mut score = AnswerScore { answers: vec![python_str(gold)], correct: Some(correct), contributions: Vec::new() };
    for (rank, (set, askings, is_member)) in sets.into_iter().take(used).enumerate() {
        if is_member {
            let rank = rank as u16;
            let rule = Aggregation::AtLeast { set: set.to_owned(), of: askings as u64 };
            score = score.line_at(rank, &format!("acc_{set}"), Aggregation::Grouped, item());
            score = score.line_at(sets.len() as u16 + rank, set, rule, item());
        }
    }
    Ok(score)
}
