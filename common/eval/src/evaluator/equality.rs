//! Right or wrong by comparing an answer with the gold one: OpenCompass's accuracy, exact match and GSM8K.

use super::metric_contribution::{Aggregation, SampleValue};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use super::{ACC_NORM, Unscored, parsed_output::Answer};
use compass_metrics::math::gsm8k_equal;
use compass_metrics::overlap::general_exact_match;
use compass_pyfmt::python_str;
use serde_json::Value;

/// `AccEvaluator`: `str(prediction) == str(gold)`. With the options' texts also `acc_norm`, whether the option of the
/// highest sum per code point is right; an answer without text cannot be that option. The data set of an `LLInferencer` leaves
/// it out ([`compass_plan::EvalSpec::accuracy_alone`]).
///
/// # Errors
/// Whether an answer is right stays undecided.
pub(super) fn acc(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let gold = python_str(question.gold);
    let correct = question.text() == gold;
    let score = AnswerScore::proportion("accuracy", Aggregation::Proportion, correct, vec![gold.clone()]);
    let options = question.options().ok().filter(|options| options.texts.is_some());
    let Some(options) = options else { return Ok(score) };
    let normalised = options.chosen_per(Answer::code_points);
    let normalised = normalised.map(|label| question.processed(label)).transpose()?;
    let normalised = normalised.is_some_and(|label| python_str(&label) == gold);
    Ok(score.series(ACC_NORM, Aggregation::Proportion, SampleValue::Hit(normalised)))
}

/// `AccwithDetailsEvaluator`: `prediction == gold` as Python compares, so that 1 is not "1".
pub(super) fn acc_with_details(question: &ScoredAnswer<'_>) -> AnswerScore {
    let correct = python_eq(&question.prediction, question.gold);
    AnswerScore::proportion("accuracy", Aggregation::Proportion, correct, vec![python_str(question.gold)])
}

/// `EMEvaluator`: `general_postprocess(prediction)` is among the golds, as they are or after the same postprocess.
///
/// OpenCompass 0.5.4 takes lists of golds alone and raises a `TypeError` on a bare string; here that is one answer.
pub(super) fn em(question: &ScoredAnswer<'_>) -> AnswerScore {
    let answers = question.gold_texts();
    let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
    let correct = general_exact_match(&question.text(), &texts);
    AnswerScore::proportion("score", Aggregation::Proportion, correct, answers)
}

/// `Gsm8kEvaluator`: equal text, or `abs(float(prediction) - int(gold)) < 1e-6`.
pub(super) fn gsm8k(question: &ScoredAnswer<'_>) -> AnswerScore {
    let (prediction, answer) = (question.text(), integer_text(question.gold));
    let correct = gsm8k_equal(&prediction, &answer);
    AnswerScore::proportion("accuracy", Aggregation::ProportionScaledFirst, correct, vec![answer])
}

/// `str(gold)`, except that `int(gold)` is taken of a gold that the data hold as a float, as Python does.
fn integer_text(gold: &Value) -> String {
    match gold {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(|| number.to_string(), |float| format!("{:.0}", float.trunc()))
        }
        _ => python_str(gold),
    }
}

/// Python's `==` of two JSON values: numbers and booleans by value, everything else by kind and content.
pub(super) fn python_eq(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        other => other.as_f64(),
    };
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| python_eq(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| python_eq(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        // Integers beyond 2^53 are not to meet in a float.
        (Value::Number(one), Value::Number(other)) if !one.is_f64() && !other.is_f64() => one == other,
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed_output::ParsedOutput;
    use super::*;
    use serde_json::json;

    fn decided_acc(question: &ScoredAnswer<'_>) -> AnswerScore {
        acc(question).unwrap()
    }

    fn right(judge: fn(&ScoredAnswer<'_>) -> AnswerScore, prediction: Value, gold: Value) -> bool {
        let output = ParsedOutput::Texts(vec![""]);
        judge(&ScoredAnswer { output: &output, prediction, gold: &gold, pred_postprocessors: &[] }).correct.unwrap()
    }

    #[test]
    fn acc_compares_python_texts() {
        assert!(right(decided_acc, json!("0"), json!(0)));
        assert!(right(decided_acc, json!(0), json!("0")));
        assert!(right(decided_acc, json!("True"), json!(true)));
        assert!(right(decided_acc, json!("1.0"), json!(1.0)));
        assert!(!right(decided_acc, json!("1"), json!(1.0)));
        assert!(!right(decided_acc, json!("a"), json!("A")));
        assert!(!right(decided_acc, json!("A "), json!("A")));
    }

    #[test]
    fn acc_with_details_compares_types() {
        assert!(!right(acc_with_details, json!("0"), json!(0)));
        assert!(right(acc_with_details, json!(1), json!(1.0)));
        assert!(right(acc_with_details, json!(true), json!(1)));
        assert!(right(acc_with_details, json!("A"), json!("A")));
        assert!(right(acc_with_details, json!(["A", 1]), json!(["A", true])));
        assert!(!right(acc_with_details, json!(9007199254740993u64), json!(9007199254740992u64)));
    }

    #[test]
    fn em_takes_any_gold_raw_or_postprocessed() {
        assert!(right(em, json!("The Paris."), json!(["Lyon", "paris", "Paris"])));
        assert!(!right(em, json!("Lyon"), json!(["Paris"])));
        assert!(right(em, json!("an apple pie, warm"), json!(["the apple pie!"])));
        assert!(right(em, json!("Paris"), json!("Paris")), "a string is one gold");
        assert!(!right(em, json!("P"), json!("Paris")));
        assert!(right(em, json!("18"), json!([18, 19])));
        assert!(!right(em, json!("x"), json!([])));
    }

    #[test]
    fn gsm8k_compares_texts_then_numbers() {
        let right = |prediction: &str, gold| right(gsm8k, json!(prediction), gold);
        assert!(right("18", json!("18")));
        assert!(right("18.0", json!("18")));
        assert!(right("18.0000009", json!(" 18 ")));
        assert!(!right("18.000001", json!("18")), "not closer than 1e-6");
        assert!(right("٣", json!("3")));
        assert!(!right("NULL", json!("3")));
        assert!(right("2.5", json!("2.5")), "equal text needs no int()");
        assert!(!right("2.50", json!("2.5")), "int('2.5') raises");
        assert!(right("18", json!(18)));
        assert!(right("18", json!(18.0)));
    }
}
