//! The verdict on one sample: what was predicted and whether it is right. Accumulators and documents share it.

use super::choice::highest;
use super::correct::{answers, is_correct};
use crate::plan::{Body, EvalSpec, Sample};
use crate::postprocess::apply_all;
use crate::prompt::python_str;
use crate::result::{Outcome, SampleResult};
use serde_json::Value;

/// What came of a sample that could be scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The label of the winning option, with the type that the plan gave it, or the generated text.
    pub prediction: Value,
    /// The prediction as text after the postprocessors: what was compared.
    pub processed: String,
    /// The accepted answers as texts after the postprocessors.
    pub answers: Vec<String>,
    /// Whether another option had exactly the winning score; the first one won.
    pub tie: bool,
    /// Whether the processed prediction is an accepted answer.
    pub correct: bool,
    /// `loglikelihood` only: whether the option of the highest sum per code point of its answer is right (lm-eval's
    /// `acc_norm`). An answer without text has no such score.
    pub correct_normalised: Option<bool>,
}

/// Why a sample has no verdict, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unscored(pub String);

/// Judges one sample.
///
/// `ppl` takes the option of the lowest mean, `loglikelihood` the one of the highest sum; of equals the first, said in
/// [`Verdict::tie`]. Scores that are not finite never win.
///
/// # Errors
/// [`Unscored`] when the sample failed, has no gold answer or no finite score, or when the result does not answer what the
/// sample asks.
pub fn judge(sample: &Sample, result: &SampleResult, spec: &EvalSpec) -> Result<Verdict, Unscored> {
    let mut normalised = None;
    let (prediction, tie) = match (&sample.body, &result.outcome) {
        (_, Outcome::Failed { reason }) => return Err(Unscored(reason.clone())),
        _ if sample.gold.is_null() => return Err(Unscored("the data set gives no gold answer".into())),
        (Body::Gen { .. }, Outcome::Generated(generations)) => {
            let [generation] = generations.as_slice() else {
                return Err(Unscored(format!("the result holds {} answers, one is wanted", generations.len())));
            };
            (Value::from(generation.text.as_str()), false)
        }
        (Body::Ppl { options }, Outcome::Ppl(scores)) => {
            same_number(options.len(), scores.len())?;
            let choice = highest(scores.iter().map(|score| -score.mean())).ok_or_else(none_finite)?;
            (options[choice.at].label.clone(), choice.tie)
        }
        (Body::Loglikelihood { options, .. }, Outcome::Loglikelihood(scores)) => {
            same_number(options.len(), scores.len())?;
            let choice = highest(scores.iter().map(|score| score.sum)).ok_or_else(none_finite)?;
            let per_character = scores.iter().zip(options).map(|(score, option)| score.sum / f64::from(option.length));
            normalised = Some(highest(per_character).map(|choice| &options[choice.at].label));
            (options[choice.at].label.clone(), choice.tie)
        }
        _ => return Err(Unscored("the result is of another kind than the question".into())),
    };
    let answers = answers(spec.evaluator, &sample.gold, &spec.dataset_postprocessors);
    let processed = |prediction: &Value| apply_all(&spec.pred_postprocessors, python_str(prediction));
    let correct = |processed: &str| is_correct(spec.evaluator, processed, &answers);
    let correct_normalised = normalised.map(|label| label.is_some_and(|label| correct(&processed(label))));
    let processed = processed(&prediction);
    let correct = correct(&processed);
    Ok(Verdict { prediction, processed, answers, tie, correct, correct_normalised })
}

fn same_number(options: usize, scores: usize) -> Result<(), Unscored> {
    if options == scores {
        return Ok(());
    }
    Err(Unscored(format!("the result holds {scores} scores for {options} options")))
}

fn none_finite() -> Unscored {
    Unscored("no option has a finite score".into())
}

#[cfg(test)]
mod tests {
    use super::super::EvaluatorKind;
    use super::super::fixture::*;
    use super::*;
    use crate::postprocess::Postprocessor;
    use serde_json::json;

    #[test]
    fn the_lowest_mean_wins() {
        let sample = ppl(0, json!(1), &[json!(0), json!(1), json!(2)]);
        let verdict = judge(&sample, &ppl_result(0, &[(9.0, 3), (8.0, 4), (2.0, 1)]), &acc()).unwrap();
        assert_eq!((verdict.prediction, verdict.tie, verdict.correct), (json!(1), true, true));
        assert_eq!((verdict.processed.as_str(), verdict.answers), ("1", vec!["1".to_string()]));
        assert_eq!(verdict.correct_normalised, None);
    }

    #[test]
    fn the_highest_sum_wins_and_code_points_normalise() {
        let sample = loglikelihood(0, json!(1), &["ab", "abcd", ""]);
        let verdict = judge(&sample, &loglikelihood_result(0, &[-2.0, -3.0, -9.0]), &acc()).unwrap();
        assert_eq!((verdict.prediction, verdict.correct, verdict.correct_normalised), (json!(0), false, Some(true)));
    }

    #[test]
    fn scores_that_are_no_numbers() {
        let sample = ppl(0, json!("B"), &[json!("A"), json!("B")]);
        let verdict = judge(&sample, &ppl_result(0, &[(f64::NEG_INFINITY, 3), (8.0, 4)]), &acc()).unwrap();
        assert_eq!(verdict.prediction, json!("B"));
        let unscored = judge(&sample, &ppl_result(0, &[(f64::NAN, 3), (f64::INFINITY, 4)]), &acc()).unwrap_err();
        assert_eq!(unscored.to_string(), "no option has a finite score");
    }

    #[test]
    fn postprocessors_apply_to_both_sides() {
        let mut spec = acc();
        spec.evaluator = EvaluatorKind::Gsm8k;
        spec.pred_postprocessors = vec![Postprocessor::Gsm8k];
        spec.dataset_postprocessors = vec![Postprocessor::Gsm8kDataset];
        let sample = generate(0, json!("so 2 * 600 = 1,200\n#### 1,200"));
        let verdict = judge(&sample, &generated(0, "It is 1200.0\nQuestion: 5"), &spec).unwrap();
        assert_eq!((verdict.processed.as_str(), verdict.correct), ("1200.0", true));
        assert_eq!(verdict.prediction, json!("It is 1200.0\nQuestion: 5"));
        assert!(!judge(&sample, &generated(0, "no idea"), &spec).unwrap().correct);
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let sample = ppl(0, json!(1), &[json!(0), json!(1)]);
        let why = |sample: &Sample, result: SampleResult| judge(sample, &result, &acc()).unwrap_err().0;
        assert_eq!(why(&sample, failed(0, "too large")), "too large");
        assert_eq!(why(&sample, ppl_result(0, &[(1.0, 1)])), "the result holds 1 scores for 2 options");
        assert_eq!(why(&sample, generated(0, "x")), "the result is of another kind than the question");
        assert_eq!(why(&sample, result(0, Outcome::Ppl(vec![]))), "the result holds 0 scores for 2 options");
        assert_eq!(why(&ppl(0, json!(1), &[]), result(0, Outcome::Ppl(vec![]))), "no option has a finite score");
        assert_eq!(why(&generate(0, json!(null)), generated(0, "x")), "the data set gives no gold answer");
    }
}
