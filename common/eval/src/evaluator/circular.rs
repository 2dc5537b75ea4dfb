//! OpenCompass's `CircularEvaluator`, sample by sample: golds are `index--letter--pattern`.

use super::Unscored;
use super::question::{Judgement, Question};
use super::share::{Item, Rule};

/// What one asking of a question says; the metrics are of all four together.
///
/// # Errors
/// The gold answer is not of that form.
pub(super) fn judge(question: &Question<'_>) -> Result<Judgement, Unscored> {
    let written = question.gold_texts().join("");
    let parts: Vec<&str> = written.split("--").collect();
    let &[group, gold, member] = parts.as_slice() else { return Err(malformed(&written)) };
    if member.chars().count() < 4 || !["A", "B", "C", "D"].contains(&gold) {
        return Err(malformed(&written));
    }
    let answer = question.text();
    let correct = answer == gold;
    let item = Item::Member { group: group.into(), member: member.into(), gold: gold.into(), answer };
    let judgement = Judgement { answers: vec![gold.into()], correct: Some(correct), shares: Vec::new() };
    Ok(judgement.line("circular", Rule::Circular, item))
}

fn malformed(written: &str) -> Unscored {
    Unscored(format!("the gold answer `{written}` is not of the form index--letter--pattern, such as 12--A--BCDA"))
}
