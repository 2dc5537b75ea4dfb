//! MATH by three peers, AGIEval, GSM8K, TheoremQA.

use crate::golden::{exactly, text};
use compass_metrics::math::*;
use serde_json::{Value, json};

#[test]
fn opencompass_math() {
    exactly("math_v1", 300, |args| math_equivalent(text(&args[0]), text(&args[1]), MathVersion::V1));
    exactly("math_v2", 300, |args| math_equivalent(text(&args[0]), text(&args[1]), MathVersion::V2));
    exactly("math_final_answer", 300, |args| normalize_final_answer(text(&args[0])));
}

#[test]
fn boxes() {
    exactly("math_boxed", 200, |args| {
        let text = text(&args[0]);
        json!([
            last_boxed(text),
            extract_boxed_answer(text, false),
            extract_boxed_answer(text, true),
            last_boxed_lm_eval(text),
            last_boxed_lm_eval(text).and_then(remove_boxed_lm_eval),
        ])
    });
}

#[test]
fn lm_eval_math() {
    exactly("hendrycks_equivalent", 300, |args| hendrycks_equivalent(text(&args[0]), text(&args[1])));
    exactly("hendrycks_math", 200, |args| hendrycks_math(text(&args[0]), text(&args[1])));
    exactly("minerva_final_answer", 300, |args| normalize_final_answer_minerva(text(&args[0])));
    exactly("minerva_answer", 200, |args| minerva_answer(text(&args[0])));
}

#[test]
fn minerva_results() {
    let mut undecided = 0;
    exactly("minerva_equal", 190, |args| {
        let completion = format!("Final Answer: The final answer is {}. I hope it is correct.", text(&args[0]));
        let result = minerva_math(&completion, &format!("\\boxed{{{}}}", text(&args[1])));
        result == MinervaResult::Equal
    });
    for (args, _) in crate::golden::cases("minerva_equal", 190) {
        let completion = format!("Final Answer: The final answer is {}. I hope it is correct.", text(&args[0]));
        let result = minerva_math(&completion, &format!("\\boxed{{{}}}", text(&args[1])));
        undecided += usize::from(result == MinervaResult::Undecided);
    }
    // Every pair of a letter, or of 2/4, with something else.
    assert!(undecided > 0);
}

/// Formulas that are decided are decided as sympy does; most are.
#[test]
fn minerva_formulas() {
    let (mut differ, mut undecided) = (Vec::new(), 0);
    let cases = crate::golden::cases("minerva_algebra", 400);
    for (args, expected) in &cases {
        let completion = format!("Final Answer: The final answer is {}. I hope it is correct.", text(&args[0]));
        let result = minerva_math(&completion, &format!("\\boxed{{{}}}", text(&args[1])));
        match result {
            MinervaResult::Undecided => undecided += 1,
            decided if (decided == MinervaResult::Equal) != *expected => differ.push(format!("{args:?} {result:?}")),
            _ => {}
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(undecided * 3 < cases.len(), "{undecided} of {} are undecided", cases.len());
}

#[test]
fn agieval() {
    exactly("agieval_answer", 200, |args| Value::from(parse_math_answer(text(&args[0]))));
    exactly("agieval_equivalent", 300, |args| agieval_equivalent(Some(text(&args[0])), text(&args[1])));
}

#[test]
fn numbers() {
    exactly("gsm8k_equal", 100, |args| gsm8k_equal(text(&args[0]), text(&args[1])));
    let theorem = |args: &[Value]| {
        let gold = match (text(&args[3]), &args[2]) {
            ("int", number) => TheoremAnswer::Integer(number.as_i64().unwrap()),
            ("bool", truth) => TheoremAnswer::Integer(i64::from(truth.as_bool().unwrap())),
            ("float", number) => TheoremAnswer::Float(number.as_f64().unwrap()),
            _ => TheoremAnswer::Text,
        };
        theorem_qa(text(&args[0]), text(&args[1]), &gold) == TheoremResult::Correct
    };
    exactly("theorem_qa", 200, theorem);
    exactly("theorem_formulas", 300, theorem);
}
