//! The kind of answers that a data set's evaluator and postprocessors look for, by which they are read a second time.

use crate::EvalSpec;
use crate::evaluation::{EvaluatorSpec, Reading, TextCheck};
use compass_postprocess::{AnswerKind, Letters, Pattern, Postprocessor};
use std::sync::LazyLock;

/// Options of MMLU-Pro.
const MMLU_PRO: &str = "ABCDEFGHIJ";
/// Options of the letter that OpenCompass's `GPQA_Simple_Eval_postprocess` looks for.
const GPQA: &str = "ABCD";

impl EvalSpec {
    /// Returns the kind of answers that are read a second time; `None` where they are not.
    pub fn read_as(&self) -> Option<AnswerKind> {
        match &self.reading {
            Reading::Off => None,
            Reading::As(kind) => Some(kind.clone()),
            Reading::Auto | Reading::First => self.known_kind(),
        }
    }

    /// Returns the kind of answers that the evaluator and its postprocessors look for; `None` where they do not say it, and where
    /// several answers are made into one.
    pub fn known_kind(&self) -> Option<AnswerKind> {
        let compares = matches!(
            self.evaluator,
            EvaluatorSpec::Acc
                | EvaluatorSpec::AccWithDetails
                | EvaluatorSpec::Em
                | EvaluatorSpec::Gsm8k
                | EvaluatorSpec::Check { .. }
                | EvaluatorSpec::ExactMatch(_)
        );
        if !compares || !self.filters.is_empty() || self.majority_vote {
            return None;
        }
        self.pred_postprocessors
            .iter()
            .rev()
            .find_map(kind_of_postprocessor)
            .or_else(|| kind_of_evaluator(&self.evaluator))
    }
}

fn choice(options: &str) -> Option<AnswerKind> {
    Letters::new(options).ok().map(|options| AnswerKind::Choice { options })
}

fn kind_of_postprocessor(postprocessor: &Postprocessor) -> Option<AnswerKind> {
    match postprocessor {
        Postprocessor::Answer(kind) => Some(kind.clone()),
        Postprocessor::FirstOption(first) => choice(first.letters()),
        Postprocessor::LastOption(options) => choice(options.as_str()),
        Postprocessor::GpqaSimpleEval => choice(GPQA),
        Postprocessor::MatchAnswerPattern(pattern) => choice(&letters(pattern)?),
        Postprocessor::Gsm8k | Postprocessor::Mathbench { .. } | Postprocessor::Mgsm { .. } => Some(AnswerKind::Number),
        Postprocessor::Math
        | Postprocessor::MathV2
        | Postprocessor::MathBoxed
        | Postprocessor::MathIntern
        | Postprocessor::AgievalMath => Some(AnswerKind::Math),
        _ => None,
    }
}

fn kind_of_evaluator(evaluator: &EvaluatorSpec) -> Option<AnswerKind> {
    match evaluator {
        EvaluatorSpec::Gsm8k | EvaluatorSpec::Check { check: TextCheck::Mgsm } => Some(AnswerKind::Number),
        EvaluatorSpec::Check { check: TextCheck::MmluPro } => choice(MMLU_PRO),
        EvaluatorSpec::Check {
            check:
                TextCheck::MathV1
                | TextCheck::MathV2
                | TextCheck::HendrycksMath
                | TextCheck::MinervaMath
                | TextCheck::AgiEval
                | TextCheck::MathVerify
                | TextCheck::Equal,
        } => Some(AnswerKind::Math),
        _ => None,
    }
}

/// Returns the options of a pattern whose only group is one letter, `([A-D])`.
fn letters(pattern: &Pattern) -> Option<String> {
    #[expect(clippy::expect_used, reason = "a constant pattern that the test compiles")]
    static GROUP: LazyLock<Pattern> = LazyLock::new(|| Pattern::new(r"\(\[A-([B-Z])\]\)").expect("a valid pattern"));
    let last = GROUP.first_group(pattern.as_str()).ok()??.chars().next().filter(|_| pattern.groups() == 1)?;
    Some(('A'..=last).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::FilterPipeline;
    use serde_json::json;

    fn spec(evaluator: EvaluatorSpec, postprocessors: &[(&str, serde_json::Value)]) -> EvalSpec {
        let named = |(name, parameters): &(&str, serde_json::Value)| {
            Postprocessor::named(name, parameters.as_object().unwrap()).unwrap()
        };
        EvalSpec { pred_postprocessors: postprocessors.iter().map(named).collect(), ..EvalSpec::new(evaluator) }
    }

    #[test]
    fn kinds_follow_from_what_a_preset_says() {
        let options = |spec: &EvalSpec| match spec.read_as() {
            Some(AnswerKind::Choice { options }) => options.as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        let check = |check| EvaluatorSpec::Check { check };
        assert_eq!(
            options(&spec(EvaluatorSpec::Acc, &[("first_option", json!({"options": "ABCDEFGHIJKLMNOP"}))])),
            "ABCDEFGHIJKLMNOP"
        );
        let pattern = json!({"answer_pattern": r"(?i)答案\s*:\s*[\W]*([A-D])[\W]*"});
        assert_eq!(options(&spec(check(TextCheck::Gpqa), &[("match_answer_pattern", pattern)])), "ABCD");
        assert_eq!(options(&spec(check(TextCheck::Gpqa), &[("gpqa_simple_eval", json!({}))])), "ABCD");
        assert_eq!(options(&spec(check(TextCheck::MmluPro), &[])), "ABCDEFGHIJ");
        let number = [spec(EvaluatorSpec::Gsm8k, &[("gsm8k", json!({}))]), spec(EvaluatorSpec::Gsm8k, &[])];
        assert!(number.iter().all(|spec| spec.read_as() == Some(AnswerKind::Number)));
        let math = [spec(check(TextCheck::MathV2), &[("math_v2", json!({}))]), spec(check(TextCheck::MathVerify), &[])];
        assert!(math.iter().all(|spec| spec.read_as() == Some(AnswerKind::Math)));
    }

    #[test]
    fn what_is_not_known_is_not_read() {
        let capital = spec(EvaluatorSpec::Acc, &[("first_capital", json!({}))]);
        assert_eq!(capital.read_as(), None);
        assert_eq!(EvalSpec { reading: Reading::As(AnswerKind::Text), ..capital }.read_as(), Some(AnswerKind::Text));
        let gsm8k = spec(EvaluatorSpec::Gsm8k, &[("gsm8k", json!({}))]);
        assert_eq!(EvalSpec { reading: Reading::Off, ..gsm8k.clone() }.read_as(), None);
        assert_eq!(EvalSpec { majority_vote: true, ..gsm8k.clone() }.read_as(), None);
        let filters = vec![FilterPipeline { name: "f".into(), steps: Vec::new() }];
        assert_eq!(EvalSpec { filters, ..gsm8k.clone() }.read_as(), None);
        assert_eq!(spec(EvaluatorSpec::Ter, &[("gsm8k", json!({}))]).read_as(), None);
        let pattern = json!({"answer_pattern": "(?i)answer: (.*)"});
        assert_eq!(spec(EvaluatorSpec::Acc, &[("match_answer_pattern", pattern)]).read_as(), None);
    }

    #[test]
    fn a_plan_without_a_word_on_it_is_written_as_before() {
        let plain = serde_json::to_value(EvalSpec::new(EvaluatorSpec::Acc)).unwrap();
        assert!(plain.get("reading").is_none());
        for reading in [Reading::First, Reading::Off, Reading::As(AnswerKind::Number)] {
            let spec = EvalSpec { reading, ..EvalSpec::new(EvaluatorSpec::Acc) };
            assert_eq!(serde_json::from_value::<EvalSpec>(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
        }
    }
}
