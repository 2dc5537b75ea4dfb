//! TheoremQA's gold answers: a text and its type, as `{ answer, answer_type }` (or with the data's own capitals).

use super::Unscored;
use compass_metrics::math::{TheoremAnswer, TheoremResult, theorem_qa};
use compass_pyfmt::float;
use compass_pyfmt::python_str;
use serde_json::Value;

/// Compares an extracted answer with the gold one. A gold answer without type compares as text.
///
/// # Errors
/// The type asks for a number that the text is not.
pub(super) fn theorem_answer(answer: &str, gold: &Value) -> Result<TheoremResult, Unscored> {
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| gold.get(name));
    let text = python_str(field(["answer", "Answer"]).unwrap_or(gold));
    let kind = field(["answer_type", "Answer_type"]).and_then(Value::as_str).unwrap_or_default();
    let not_a_number = || Unscored(format!("the gold answer `{text}` is no {kind}"));
    let gold = match (kind, text.as_str()) {
        ("bool", "True") => TheoremAnswer::Integer(1),
        ("bool", "False") => TheoremAnswer::Integer(0),
        ("integer", text) => TheoremAnswer::Integer(text.trim().parse().map_err(|_| not_a_number())?),
        ("float", text) => TheoremAnswer::Float(float(text).ok_or_else(not_a_number)?),
        ("bool", _) => return Err(not_a_number()),
        _ => TheoremAnswer::Text,
    };
    Ok(theorem_qa(answer, &text, &gold))
}
