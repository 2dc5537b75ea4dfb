//! TheoremQA (`TheoremQAEvaluatorV3` of OpenCompass), as far as it goes without a computer algebra system.

use super::expression;
use crate::text::{Pattern, strip};
use compass_pyfmt::float;

/// The gold answer, as its `Answer_type` has it.
#[derive(Clone, Debug, PartialEq)]
pub enum TheoremAnswer {
    /// `integer`, and `bool` as 0 or 1: equal once the prediction is rounded.
    Integer(i64),
    /// `float`: within 4 %.
    Float(f64),
    /// `list of integer`, `list of float`, `option` and others: by text alone, as the peer does.
    Text,
}

/// Outcome of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TheoremResult {
    /// Equal as text or as numbers.
    Correct,
    /// Different numbers, or different texts where only text counts.
    Wrong,
    /// The prediction is a formula: the peer would have evaluated it. Counted as wrong, and said.
    Undecided,
}

/// `compare_answer_with_groundtruth` of an extracted answer with the gold answer and its text.
pub fn theorem_qa(answer: &str, gold_text: &str, gold: &TheoremAnswer) -> TheoremResult {
    let (answer_lower, gold_lower) = (answer.to_lowercase(), gold_text.to_lowercase());
    let is_option = matches!(gold_lower.as_str(), "(a)" | "(b)" | "(c)" | "(d)" | "(e)" | "(f)");
    if answer_lower == gold_lower || (is_option && answer_lower.contains(&gold_lower)) {
        return TheoremResult::Correct;
    }
    if is_option || *gold == TheoremAnswer::Text {
        return TheoremResult::Wrong;
    }
    let Some(number) = number(answer) else { return TheoremResult::Undecided };
    let equal = match *gold {
        TheoremAnswer::Integer(gold) => number.round_ties_even() == gold as f64,
        TheoremAnswer::Float(gold) => within(number, gold),
        TheoremAnswer::Text => false,
    };
    if equal { TheoremResult::Correct } else { TheoremResult::Wrong }
}

/// The peer's own bounds, which rounding sets a hair off the difference.
fn within(number: f64, gold: f64) -> bool {
    let margin = gold.abs() * 0.04;
    number >= gold - margin && number <= gold + margin
}

/// A plain number once units are gone, a percentage, or a plain formula.
fn number(answer: &str) -> Option<f64> {
    let text = ["$", "¥", "°C", " C", "°"].iter().fold(answer.to_string(), |text, unit| text.replace(unit, ""));
    match text.strip_suffix('%') {
        Some(percent) => float(strip(percent)).map(|number| number / 100.0),
        None => float(&text).or_else(|| plain_formula(&text)),
    }
}

/// A fraction, a root or a power of whole numbers. In others the peer's reader has ways of its own: `2(3)` is 5 there.
fn plain_formula(text: &str) -> Option<f64> {
    static PLAIN: Pattern = Pattern::new(
        r"^-?([0-9]+/[0-9]+|\\d?frac\{-?[0-9]+\}\{[0-9]+\}|[0-9]*\\sqrt\{[0-9]+\}|\\d?frac\{[0-9]*\\sqrt\{[0-9]+\}\}\{[0-9]+\}|[0-9]+\^([0-9]+|\{-?[0-9]+\}))$",
    );
    if PLAIN.is_match(text) { expression::parse(text)?.value() } else { None }
}
