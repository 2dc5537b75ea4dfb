//! Comparison of the gold answer of a record with that of a sample.
//!
//! OpenCompass stores what its loader has made of the output column. Where presets leave a part of that to a
//! `dataset_postprocessor` (the boxed answer of MATH's solutions), its gold answer is ours after that; where a gold answer is
//! a table of columns, it may store the whole row (IFEval), with `null` for each key that another row has.

use compass_eval::evaluator::processed;
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::{EvalSpec, Sample};
use compass_pyfmt::python_str;
use serde_json::Value;

/// Returns whether `theirs` is the gold answer of `sample`.
pub fn is_gold_of(eval: &EvalSpec, sample: &Sample, theirs: &Value) -> bool {
    if sample.gold.is_null() {
        // A conversation holds its own, and what is scored whole has none.
        return true;
    }
    let ours = eval.evaluator.reference(&sample.gold);
    // Of answers of which any is right the order says nothing, and the loaders of CMRC, DRCD, SQuAD and TyDi QA take theirs from a
    // set.
    let any_is_right =
        matches!(eval.evaluator, EvaluatorSpec::Em | EvaluatorSpec::Score { .. } | EvaluatorSpec::Check { .. });
    let is_same = |ours: &Value| {
        python_str(theirs) == python_str(ours)
            || covers(theirs, ours, true)
            || any_is_right && sorted(theirs).is_some_and(|theirs| Some(theirs) == sorted(ours))
    };
    is_same(ours) || processed(&eval.dataset_postprocessors, ours).is_ok_and(|after| is_same(&after))
}

/// The texts of a list, in an order of their own; `None` for anything else.
fn sorted(answers: &Value) -> Option<Vec<&str>> {
    let mut texts = answers.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?;
    texts.sort_unstable();
    Some(texts)
}

/// Returns whether `theirs` is `ours`, apart from keys without a value, and at the top from further columns of the row.
fn covers(theirs: &Value, ours: &Value, is_row: bool) -> bool {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let known = ours.iter().all(|(key, ours)| covers(theirs.get(key).unwrap_or(&Value::Null), ours, false));
            let further = || theirs.iter().all(|(key, value)| value.is_null() || ours.contains_key(key));
            known && (is_row || further())
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            theirs.len() == ours.len() && theirs.iter().zip(ours).all(|(theirs, ours)| covers(theirs, ours, false))
        }
        (Value::Number(theirs), Value::Number(ours)) if theirs.is_f64() != ours.is_f64() => {
            theirs.as_f64() == ours.as_f64()
        }
        _ => python_str(theirs) == python_str(ours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::Body;
    use compass_plan::evaluation::TextScore;
    use compass_plan::prompt::Prompt;
    use compass_postprocess::Postprocessor;
    use serde_json::json;

    fn sample(gold: Value) -> Sample {
        Sample { index: 0, gold, shots: Vec::new(), body: Body::Gen { prompt: Prompt::question("q") } }
    }

    #[test]
    fn math_stores_the_boxed_answer_of_its_solution() {
        let mut eval = EvalSpec::new(EvaluatorSpec::Acc);
        eval.dataset_postprocessors = vec![Postprocessor::named("math_boxed", &Default::default()).unwrap()];
        let ours = sample(json!("so that $x$ is $\\boxed{\\frac{1}{2}}$."));
        for (theirs, same) in [("\\frac{1}{2}", true), ("so that $x$ is $\\boxed{\\frac{1}{2}}$.", true), ("2", false)]
        {
            assert_eq!(is_gold_of(&eval, &ours, &json!(theirs)), same, "{theirs}");
        }
    }

    #[test]
    fn ifeval_stores_its_row_with_every_key_of_every_row() {
        let eval = EvalSpec::new(EvaluatorSpec::Ifeval);
        let ours = sample(json!({"instruction_id_list": ["a", "b"], "kwargs": [{}, {"num_words": 300}]}));
        let row = |words: Value, relation: Value| {
            json!({
                "key": 1000, "prompt": "Write.", "instruction_id_list": ["a", "b"],
                "kwargs": [{"num_words": null, "relation": relation}, {"num_words": words, "relation": null}]
            })
        };
        assert!(is_gold_of(&eval, &ours, &row(json!(300), Value::Null)));
        assert!(is_gold_of(&eval, &ours, &row(json!(300.0), Value::Null)));
        assert!(!is_gold_of(&eval, &ours, &row(json!(301), Value::Null)));
        assert!(!is_gold_of(&eval, &ours, &row(json!(300), json!("at least"))), "a key that ours lacks");
        assert!(!is_gold_of(&eval, &ours, &json!({"instruction_id_list": ["a", "b"], "kwargs": [{}]})));
    }

    #[test]
    fn numbers_and_their_texts_are_one_answer() {
        let eval = EvalSpec::new(EvaluatorSpec::Acc);
        assert!(is_gold_of(&eval, &sample(json!(1)), &json!("1")));
        assert!(!is_gold_of(&eval, &sample(json!(1)), &json!("2")));
        assert!(is_gold_of(&eval, &sample(json!(["a", "b"])), &json!(["a", "b"])));
        assert!(!is_gold_of(&eval, &sample(json!(["a", "b"])), &json!(["b", "a"])));
        for evaluator in [EvaluatorSpec::Em, EvaluatorSpec::Score { score: TextScore::Squad }] {
            let any = EvalSpec::new(evaluator);
            assert!(is_gold_of(&any, &sample(json!(["a", "b"])), &json!(["b", "a"])));
            assert!(!is_gold_of(&any, &sample(json!(["a", "b"])), &json!(["b", "b"])));
        }
    }
}
