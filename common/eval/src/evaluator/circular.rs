//! OpenCompass's `CircularEvaluator`, sample by sample: golds are `index--letter--pattern`.

use super::Unscored;
use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};

/// Scores one asking of a question; the metrics are of all four together.
///
/// # Errors
/// The gold answer is not of that form.
pub(super) fn judge(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let written = question.gold_texts().join("");
    let parts: Vec<&str> = written.split("--").collect();
    let &[group, gold, member] = parts.as_slice() else { return Err(malformed(&written)) };
    if member.chars().count() < 4 || !["A", "B", "C", "D"].contains(&gold) {
        return Err(malformed(&written));
    }
    let answer = question.text();
    let correct = answer == gold;
    let item = SampleValue::Member { group: group.into(), member: member.into(), gold: gold.into(), answer };
    let score = AnswerScore { answers: vec![gold.into()], correct: Some(correct), contributions: Vec::new() };
    Ok(score.series("circular", Aggregation::Circular, item))
}

fn malformed(written: &str) -> Unscored {
    Unscored(format!("the gold answer `{written}` is not of the form index--letter--pattern, such as 12--A--BCDA"))
}
