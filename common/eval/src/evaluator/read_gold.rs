//! A gold answer as the data set's postprocessors read it. Where they find no answer in it, nothing equals it: an answer in which
//! they find none either is not right.

use super::Unscored;
use super::scored_answer::processed;
use compass_plan::EvalSpec;
use compass_plan::evaluation::{CIRCULAR_ANSWER, EvaluatorSpec};
use compass_postprocess::{Postprocessor, nothing_found};
use compass_pyfmt::python_str;
use serde_json::Value;

/// A gold answer after the postprocessors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReadGold {
    /// The gold answer; where it has several, the ones in which an answer was found, unless none was.
    pub(super) gold: Value,
    /// Set if none was found.
    pub(super) unread: bool,
}

impl ReadGold {
    /// Reads what a sample has: all of it, or its answer where more stands beside that.
    ///
    /// # Errors
    /// As [`processed`].
    pub(super) fn of(spec: &EvalSpec, written: &Value) -> Result<Self, Unscored> {
        let answer = match spec.evaluator {
            EvaluatorSpec::CircularEval { .. } => written.get(CIRCULAR_ANSWER),
            _ => None,
        };
        let read = Self::new(&spec.dataset_postprocessors, answer.unwrap_or(written))?;
        let Some(whole) = written.as_object().filter(|_| answer.is_some()) else { return Ok(read) };
        let mut whole = whole.clone();
        whole.insert(CIRCULAR_ANSWER.to_owned(), read.gold);
        Ok(Self { gold: whole.into(), unread: read.unread })
    }

    /// Reads `written`. What is blank as written is an empty answer, and read.
    ///
    /// # Errors
    /// As [`processed`].
    pub(super) fn new(postprocessors: &[Postprocessor], written: &Value) -> Result<Self, Unscored> {
        let gold = processed(postprocessors, written)?;
        let Some(nothing) = nothing_found(postprocessors) else { return Ok(Self { gold, unread: false }) };
        let is_unread = |written: &Value, read: &Value| {
            read.as_str() == Some(nothing.as_str()) && !python_str(written).trim().is_empty()
        };
        Ok(match (written, gold) {
            (Value::Array(written), Value::Array(golds)) => {
                let found = written.iter().zip(&golds).filter(|(written, gold)| !is_unread(written, gold));
                let found: Vec<Value> = found.map(|(_, gold)| gold.clone()).collect();
                let unread = found.is_empty() && !golds.is_empty();
                Self { gold: if unread { golds } else { found }.into(), unread }
            }
            (written, gold) => Self { unread: is_unread(written, &gold), gold },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::super::metric_contribution::SampleValue;
    use super::super::{Accumulator, judge};
    use super::*;
    use compass_plan::evaluation::{F1Average, GaokaoQuestion, TextCheck, TextScore};
    use serde_json::json;

    fn spec(evaluator: EvaluatorSpec, reader: Postprocessor) -> EvalSpec {
        let mut spec = EvalSpec::new(evaluator);
        spec.dataset_postprocessors = vec![reader.clone()];
        spec.pred_postprocessors = vec![reader];
        spec
    }

    #[test]
    fn an_empty_answer_does_not_equal_a_solution_without_a_box() {
        let mut spec = EvalSpec::new(EvaluatorSpec::Check { check: TextCheck::MathV2 });
        spec.dataset_postprocessors = vec![Postprocessor::MathBoxed];
        let mut accumulator = Accumulator::new(&spec);
        for (index, solution) in ["so \\fbox{4}", "so $4$", "so \\boxed{4"].iter().enumerate() {
            let index = index as u32;
            assert!(accumulator.observe(&generate(index, json!(solution)), &generated(index, "")));
        }
        // OpenCompass, where the loader makes None of these solutions
        assert_eq!(accumulator.finish().get("accuracy").unwrap().value, 0.0);
        let score = judge(&generate(0, json!("so \\boxed{4}")), &generated(0, "4"), &spec).unwrap();
        assert_eq!((score.correct, score.gold_unread), (vec![true], false));
    }

    #[test]
    fn no_evaluator_equals_an_empty_answer_to_a_gold_that_was_not_read() {
        let checks = [TextCheck::MathV1, TextCheck::MathV2, TextCheck::Mgsm, TextCheck::Bbh, TextCheck::BbhMcq];
        let more = [TextCheck::AgiEvalMcq, TextCheck::TriviaQa, TextCheck::Nq, TextCheck::Squad20, TextCheck::Gpqa];
        let last = [TextCheck::Lambada, TextCheck::Drop, TextCheck::Bbeh, TextCheck::BbehMcq, TextCheck::MinervaMath];
        let checks = checks.into_iter().chain(more).chain(last).map(|check| EvaluatorSpec::Check { check });
        let scores = [TextScore::Squad, TextScore::TydiQa, TextScore::DropBags, TextScore::Ruler, TextScore::RulerQa];
        let scores = scores.into_iter().map(|score| EvaluatorSpec::Score { score });
        let others = [
            EvaluatorSpec::Acc,
            EvaluatorSpec::AccWithDetails,
            EvaluatorSpec::Em,
            EvaluatorSpec::Gsm8k,
            EvaluatorSpec::Mcc,
            EvaluatorSpec::F1 { average: F1Average::Macro },
            EvaluatorSpec::CrowsPairs,
            EvaluatorSpec::ExactMatch(Default::default()),
            EvaluatorSpec::Gaokao { question: GaokaoQuestion::MultiChoice },
        ];
        let readers = [Postprocessor::MathBoxed, Postprocessor::Gsm8k, Postprocessor::LastCapital];
        for evaluator in checks.chain(scores).chain(others) {
            for reader in &readers {
                let spec = spec(evaluator.clone(), reader.clone());
                let score = judge(&generate(0, json!("no answer here")), &generated(0, ""), &spec).unwrap();
                assert!(score.gold_unread && !score.correct.contains(&true), "{evaluator:?} {reader:?}: {score:?}");
                for contribution in &score.contributions {
                    let nothing = match &contribution.item {
                        SampleValue::Hit(hit) => !hit || contribution.name == "undecided",
                        SampleValue::Score(score) | SampleValue::Weighted(score, _) => *score == 0.0,
                        SampleValue::Classes(gold, predicted) => gold != predicted,
                        _ => true,
                    };
                    assert!(nothing, "{evaluator:?} {reader:?}: {contribution:?}");
                }
            }
        }
    }

    #[test]
    fn of_several_golds_those_that_were_read_count() {
        let spec = spec(EvaluatorSpec::Em, Postprocessor::MathBoxed);
        let sample = generate(0, json!(["none", "\\boxed{4}"]));
        let right = |answer: &str| judge(&sample, &generated(0, answer), &spec).unwrap();
        assert_eq!((right("\\boxed{4}").correct, right("").correct), (vec![true], vec![false]));
        assert!(!right("").gold_unread);
    }

    #[test]
    fn what_drops_articles_reads_every_gold() {
        let read = |gold: Value| ReadGold::new(&[Postprocessor::General], &gold).unwrap();
        assert_eq!(read(json!("A")), ReadGold { gold: json!(""), unread: false });
        let blank = ReadGold::new(&[Postprocessor::MathBoxed], &json!(" ")).unwrap();
        assert!(!blank.unread, "the data say that the answer is empty");
    }
}
