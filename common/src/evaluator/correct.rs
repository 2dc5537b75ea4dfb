//! When a prediction is right: OpenCompass's comparisons.

use super::EvaluatorKind;
use crate::postprocess::{Postprocessor, apply_all, float, general, int};
use crate::prompt::python_str;
use serde_json::Value;

/// Numbers closer than this are the same answer (`Gsm8kEvaluator.is_equal`).
const GSM8K_TOLERANCE: f64 = 1e-6;

/// The accepted answers as texts, postprocessed: several for exact match with a list, else one.
///
/// OpenCompass's `EMEvaluator` takes a bare string for a list of its characters; here it is one answer.
pub(super) fn answers(kind: EvaluatorKind, gold: &Value, postprocessors: &[Postprocessor]) -> Vec<String> {
    let one = |gold: &Value| apply_all(postprocessors, text(kind, gold));
    match (kind, gold) {
        (EvaluatorKind::Em, Value::Array(golds)) => golds.iter().map(one).collect(),
        _ => vec![one(gold)],
    }
}

/// Whether the postprocessed `prediction` is one of the `answers`.
///
/// - `Acc`: `str(prediction) == str(gold)`.
/// - `Em`: `general_postprocess(prediction)` is among the golds, as they are or after the same postprocess.
/// - `Gsm8k`: equal text, or `abs(float(prediction) - int(gold)) < 1e-6`.
pub(super) fn is_correct(kind: EvaluatorKind, prediction: &str, answers: &[String]) -> bool {
    match kind {
        EvaluatorKind::Acc => answers.iter().any(|answer| answer == prediction),
        EvaluatorKind::Em => {
            let prediction = general(prediction);
            answers.iter().any(|answer| *answer == prediction || general(answer) == prediction)
        }
        EvaluatorKind::Gsm8k => answers.iter().any(|answer| answer == prediction || near(prediction, answer)),
    }
}

fn near(prediction: &str, answer: &str) -> bool {
    let Some((prediction, answer)) = float(prediction).zip(int(answer)) else { return false };
    (prediction - answer).abs() < GSM8K_TOLERANCE
}

/// `str(gold)`, except that `Gsm8k` takes `int(gold)` of a gold that the data hold as a float, as Python does.
fn text(kind: EvaluatorKind, gold: &Value) -> String {
    match (kind, gold) {
        (EvaluatorKind::Gsm8k, Value::Number(number)) if number.is_f64() => {
            number.as_f64().map_or_else(|| number.to_string(), |float| format!("{:.0}", float.trunc()))
        }
        _ => python_str(gold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn right(kind: EvaluatorKind, prediction: &str, gold: Value) -> bool {
        is_correct(kind, prediction, &answers(kind, &gold, &[]))
    }

    #[test]
    fn acc_compares_python_texts() {
        use EvaluatorKind::Acc;
        assert!(right(Acc, "0", json!(0)));
        assert!(right(Acc, "0", json!("0")));
        assert!(right(Acc, "True", json!(true)));
        assert!(right(Acc, "1.0", json!(1.0)));
        assert!(!right(Acc, "1", json!(1.0)));
        assert!(!right(Acc, "a", json!("A")));
        assert!(!right(Acc, "A ", json!("A")));
    }

    #[test]
    fn em_takes_any_gold_raw_or_postprocessed() {
        use EvaluatorKind::Em;
        assert!(right(Em, "The Paris.", json!(["Lyon", "paris", "Paris"])));
        assert!(!right(Em, "Lyon", json!(["Paris"])));
        assert!(right(Em, "an apple pie, warm", json!(["the apple pie!"])));
        assert!(right(Em, "Paris", json!("Paris")), "a string is one gold, not its characters");
        assert!(!right(Em, "P", json!("Paris")));
        assert!(right(Em, "18", json!([18, 19])));
        assert!(!right(Em, "x", json!([])));
    }

    #[test]
    fn gsm8k_compares_texts_then_numbers() {
        use EvaluatorKind::Gsm8k;
        assert!(right(Gsm8k, "18", json!("18")));
        assert!(right(Gsm8k, "18.0", json!("18")));
        assert!(right(Gsm8k, "18.0000009", json!(" 18 ")));
        assert!(!right(Gsm8k, "18.000001", json!("18")), "not closer than 1e-6");
        assert!(right(Gsm8k, "٣", json!("3")));
        assert!(!right(Gsm8k, "NULL", json!("3")));
        assert!(right(Gsm8k, "2.5", json!("2.5")), "equal text needs no int()");
        assert!(!right(Gsm8k, "2.50", json!("2.5")), "int('2.5') raises");
        assert!(right(Gsm8k, "18", json!(18)));
        assert!(right(Gsm8k, "18", json!(18.0)));
    }

    #[test]
    fn golds_are_postprocessed_one_by_one() {
        let golds = json!(["#### 1,0", "#### 2"]);
        assert_eq!(answers(EvaluatorKind::Em, &golds, &[Postprocessor::Gsm8kDataset]), ["10", "2"]);
        assert_eq!(answers(EvaluatorKind::Acc, &json!("#### 7"), &[Postprocessor::Gsm8kDataset]), ["7"]);
    }
}
