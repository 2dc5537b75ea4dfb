//! The decision of `MATHVerifyEvaluator` on an answer.

use super::extract::extract;
use super::patterns::{ANSWER, GOLD};
use crate::math::equal::{Rules, Verdict, Why, equal};
use regex::Regex;
use std::sync::LazyLock;

/// Most bytes of an answer that are read, from its end.
const LONGEST: usize = 64 * 1024;

/// Formulas of an answer that are not read, or as a product with a word: the evaluator turns math-verify's repairs off. Arguments
/// without braces, a mark at the end, a word before the value, digits of full width.
#[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
static UNREAD: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"\\[dtc]?frac\s*[^\s{]|\\[dtc]?frac\s*\{[^{}]*\}\s*[^\s{]|\\sqrt\s*[^\s{\[]|\\binom\s*[^\s{]",
        r"|\^\s?\(|\\overline|~|[\u{FF01}-\u{FF5E}]|[.,;]\s*$|^\s*\\text(?:bf|it|rm)?\{[^{}]*[A-Za-z]{2}[^{}]*\}\s*[^\s\\]",
    );
    Regex::new(pattern).expect("a valid pattern")
});

/// Decides whether a model's answer, all its text, is the gold one, as OpenCompass's `MATHVerifyEvaluator` does: boxes of the
/// answer count first, then formulas behind `answer`; an answer without either, or a gold one in which nothing is found, is
/// [`Verdict::Unequal`].
///
/// The evaluator hands the two to math-verify the other way around: the answer's form leads.
pub fn math_verify(answer: &str, gold: &str) -> Verdict {
    let from = answer.len().saturating_sub(LONGEST);
    let from = (from..).find(|at| answer.is_char_boundary(*at)).unwrap_or(0);
    match (extract(&answer[from..], &ANSWER), extract(&format!("${gold}$"), &GOLD)) {
        (Ok(Some(answer)), Ok(Some(gold))) if UNREAD.is_match(&answer) => {
            if answer.trim() == gold.trim() {
                Verdict::Equal
            } else {
                Verdict::Unequal
            }
        }
        (Ok(Some(answer)), Ok(Some(gold))) => equal(&answer, &gold, Rules::Peer),
        (Ok(_), Ok(_)) => Verdict::Unequal,
        (Err(_), _) | (_, Err(_)) => Verdict::Undecided(Why::TooManySteps),
    }
}
