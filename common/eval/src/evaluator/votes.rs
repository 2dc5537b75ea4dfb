//! Votes of several answers to one question: the classes into which the wrong ones fall.
//!
//! The answers that are right agree with the gold answer, and so with one another; they are one class. Wrong ones are compared by
//! what the evaluator compares: as mathematics where it judges mathematics, else as texts. An answer in which nothing was found
//! has no vote.

use compass_metrics::math::equal::{Rules, equal};
use compass_metrics::math::{
    INVALID_ANSWER, hendrycks_answer, minerva_answer, normalize_final_answer_minerva, parse_math_answer,
};
use compass_plan::EvalSpec;
use compass_plan::evaluation::{EvaluatorSpec, TextCheck};
use compass_postprocess::nothing_found;
use compass_pyfmt::python_str;
use serde_json::Value;
use std::collections::BTreeMap;

/// Longest text, in bytes, that is compared as mathematics: of longer ones there may be as many as answers.
const LONGEST: usize = 256;

/// Returns the votes of each class of `wrong` answers, which are processed predictions in the order in which they were drawn: the
/// most first. `None` where answers do not vote, since right ones need not agree.
pub(super) fn rivals<'a>(spec: &EvalSpec, wrong: impl IntoIterator<Item = &'a Value>) -> Option<Vec<u64>> {
    if matches!(spec.evaluator, EvaluatorSpec::Ifeval | EvaluatorSpec::Check { check: TextCheck::NeedleBench }) {
        return None;
    }
    let nothing = nothing_found(&spec.pred_postprocessors);
    let texts = wrong.into_iter().filter_map(|answer| compared(&spec.evaluator, python_str(answer)));
    let texts = texts.filter(|text| !text.trim().is_empty() && Some(text) != nothing.as_ref());
    if is_mathematics(&spec.evaluator) {
        return Some(classes(texts, |class, text| {
            class.len().max(text.len()) <= LONGEST && equal(class, text, Rules::Ours).is_equal()
        }));
    }
    Some(classes(texts, |_, _| false))
}

/// Counts texts by class: that of an equal text, else the first one with whose first text it `agrees`.
fn classes(texts: impl Iterator<Item = String>, agrees: impl Fn(&str, &str) -> bool) -> Vec<u64> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut classes: Vec<(String, u64)> = Vec::new();
    for text in texts {
        let class = known.get(&text).copied();
        let class =
            class.or_else(|| classes.iter().position(|(first, _)| agrees(first, &text))).unwrap_or(classes.len());
        known.insert(text.clone(), class);
        match classes.get_mut(class) {
            Some((_, votes)) => *votes += 1,
            None => classes.push((text, 1)),
        }
    }
    let mut votes: Vec<u64> = classes.into_iter().map(|(_, votes)| votes).collect();
    votes.sort_unstable_by(|one, other| other.cmp(one));
    votes
}

/// Returns whether answers are formulas or numbers.
fn is_mathematics(evaluator: &EvaluatorSpec) -> bool {
    match evaluator {
        EvaluatorSpec::Gsm8k => true,
        EvaluatorSpec::Check { check } => matches!(
            check,
            TextCheck::Mgsm
                | TextCheck::MathV1
                | TextCheck::MathV2
                | TextCheck::HendrycksMath
                | TextCheck::MinervaMath
                | TextCheck::AgiEval
                | TextCheck::TheoremQa
                | TextCheck::MathVerify
                | TextCheck::Equal
        ),
        _ => false,
    }
}

/// Returns the part of a prediction that its evaluator compares; `None` where it finds none.
fn compared(evaluator: &EvaluatorSpec, text: String) -> Option<String> {
    let EvaluatorSpec::Check { check } = evaluator else { return Some(text) };
    match check {
        TextCheck::HendrycksMath => Some(hendrycks_answer(&text).to_owned()),
        TextCheck::MinervaMath => {
            let answer = minerva_answer(&text);
            (answer != INVALID_ANSWER).then(|| normalize_final_answer_minerva(&answer))
        }
        TextCheck::AgiEval => parse_math_answer(&text),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_postprocess::Postprocessor;

    fn votes(spec: &EvalSpec, wrong: &[&str]) -> Vec<u64> {
        rivals(spec, &wrong.iter().map(|text| Value::from(*text)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn equal_texts_are_a_class_and_nothing_is_none() {
        let mut spec = EvalSpec::new(EvaluatorSpec::Acc);
        assert_eq!(votes(&spec, &["B", "C", "", "B", " ", "D", "B", "C"]), [3, 2, 1]);
        assert_eq!(votes(&spec, &[]), [0; 0]);
        spec.pred_postprocessors = vec![Postprocessor::Gsm8k];
        assert_eq!(votes(&spec, &["NULL", "7", "NULL"]), [1], "what the postprocessor writes where it finds nothing");
    }

    #[test]
    fn essays_do_not_vote() {
        assert_eq!(rivals(&EvalSpec::new(EvaluatorSpec::Ifeval), &[Value::from("a text")]), None);
    }

    #[test]
    fn formulas_of_one_value_are_a_class() {
        let check = |check| EvalSpec::new(EvaluatorSpec::Check { check });
        let answers = [r"\frac{1}{2}", "0.5", r"\dfrac12", "2", "2.0", "x", "A"];
        assert_eq!(votes(&check(TextCheck::MathV2), &answers), [3, 2, 1, 1]);
        assert_eq!(votes(&check(TextCheck::Gpqa), &answers), [1; 7]);
        assert_eq!(votes(&check(TextCheck::HendrycksMath), &["so $\\frac12$", "it is $0.5$.", "$3$"]), [2, 1]);
        let minerva = |answer: &str| format!("Final Answer: The final answer is ${answer}$. I hope it is correct.");
        assert_eq!(votes(&check(TextCheck::MinervaMath), &[&minerva("1/2"), &minerva("0.5"), "no answer"]), [2]);
        assert_eq!(votes(&check(TextCheck::AgiEval), &["\\boxed{1/2}", "= 0.5", "none"]), [2]);
        let long = "1".repeat(LONGEST + 1);
        assert_eq!(
            votes(&check(TextCheck::MathV2), &[&long, &format!("0{long}"), &long]),
            [2, 1],
            "long texts are compared as texts"
        );
    }
}
