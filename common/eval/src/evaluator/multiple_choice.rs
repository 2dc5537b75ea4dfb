//! lm-eval's metrics of `multiple_choice` tasks (`ConfigurableTask.process_results`).

use super::metric_contribution::{Aggregation, Bounds, SampleValue, Scale};
use super::parsed_output::{Answer, Options};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use super::{Unscored, equality::python_eq};
use compass_metrics::option::truthful_mc2;
use compass_metrics::statistics::brier_score;
use compass_plan::evaluation::{ChoiceMetric, F1Average};
use serde_json::Value;

/// The metrics asked for. The gold answer is an option's label, or a list of them, any of which is right; a gold that is
/// no option scores 0, and has no Brier score.
///
/// # Errors
/// There are no options, or a metric wants their texts and the inference had none.
pub(super) fn judge(question: &ScoredAnswer<'_>, metrics: &[ChoiceMetric]) -> Result<AnswerScore, Unscored> {
    let options = question.options()?;
    let golds = golds(question, options)?;
    let right = |label: Option<&Value>| label.is_some_and(|label| golds.iter().any(|&at| options.labels[at] == *label));
    let chosen = options.chosen();
    let mut score =
        AnswerScore { answers: question.gold_texts(), correct: Some(right(Some(chosen))), ..AnswerScore::default() };
    for (rank, &metric) in metrics.iter().enumerate() {
        let texts = || options.texts.as_ref().ok_or_else(|| no_texts(metric));
        let (rule, item) = match metric {
            ChoiceMetric::Acc => (Aggregation::Proportion, Some(SampleValue::Hit(right(Some(chosen))))),
            ChoiceMetric::AccNorm => {
                texts()?;
                (Aggregation::Proportion, Some(SampleValue::Hit(right(options.chosen_per(Answer::code_points)))))
            }
            ChoiceMetric::AccBytes => {
                texts()?;
                (Aggregation::Proportion, Some(SampleValue::Hit(right(options.chosen_per(Answer::bytes)))))
            }
            ChoiceMetric::ExactMatch => {
                let greedy = &texts()?.greedy;
                (Aggregation::Proportion, Some(SampleValue::Hit(golds.iter().any(|&at| greedy[at]))))
            }
            ChoiceMetric::BrierScore => {
                let brier = |gold: &[usize]| Some(SampleValue::Score(brier_score(&options.scores, *gold.first()?)));
                (
                    Aggregation::Mean { scale: Scale::One, bounds: Bounds::Brier },
                    brier(&golds).filter(|_| golds.len() == 1),
                )
            }
            ChoiceMetric::Mc2 => {
                let is_gold: Vec<bool> = (0..options.labels.len()).map(|at| golds.contains(&at)).collect();
                (
                    Aggregation::Mean { scale: Scale::Percent, bounds: Bounds::Percent },
                    Some(SampleValue::Score(truthful_mc2(&options.scores, &is_gold))),
                )
            }
            ChoiceMetric::Mcc => {
                let gold = golds.first().map(|at| at.to_string());
                let item = |gold| SampleValue::Classes(gold, options.choice.at.to_string());
                (Aggregation::Matthews { scale: Scale::One }, gold.map(item))
            }
            ChoiceMetric::F1 => {
                if options.labels.len() != 2 {
                    let count = options.labels.len();
                    return Err(Unscored(format!("`f1` of multiple choice is of two options, and there are {count}")));
                }
                let gold = golds.first().map(|at| at.to_string());
                let item = |gold| SampleValue::Classes(gold, options.choice.at.to_string());
                (Aggregation::F1 { average: F1Average::Binary }, gold.map(item))
            }
            ChoiceMetric::AccMutualInfo => {
                if texts()?.unconditional.is_none() {
                    return Err(Unscored("the answers were not scored with nothing before them".into()));
                }
                (Aggregation::Proportion, Some(SampleValue::Hit(right(options.chosen_by_gain()))))
            }
        };
        if let Some(item) = item {
            score = score.line_at(rank as u16, metric.name(), rule, item);
        }
    }
    Ok(score)
}

/// The positions of the options that are right.
fn golds(question: &ScoredAnswer<'_>, options: &Options<'_>) -> Result<Vec<usize>, Unscored> {
    let mut golds = Vec::new();
    for (at, label) in options.labels.iter().enumerate() {
        let label = question.processed(label)?;
        if question.golds().iter().any(|gold| python_eq(&label, gold)) {
            golds.push(at);
        }
    }
    Ok(golds)
}

fn no_texts(metric: ChoiceMetric) -> Unscored {
    Unscored(format!(
        "`{}` needs the answers' own log-likelihoods: use `inferencer = \"loglikelihood\"`",
        metric.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::super::{Accumulator, judge};
    use super::*;
    use compass_plan::evaluation::EvaluatorSpec;
    use compass_plan::{Body, EvalSpec, OptionText};
    use serde_json::json;

    const ALL: [ChoiceMetric; 5] = [
        ChoiceMetric::Acc,
        ChoiceMetric::AccNorm,
        ChoiceMetric::AccBytes,
        ChoiceMetric::ExactMatch,
        ChoiceMetric::BrierScore,
    ];

    fn items(gold: Value, answers: &[&str], sums: &[f64]) -> Vec<(String, SampleValue)> {
        let spec = EvalSpec::new(EvaluatorSpec::MultipleChoice { metrics: ALL.to_vec() });
        let score = judge(&loglikelihood(0, gold, answers), &loglikelihood_result(0, sums), &spec).unwrap();
        score.contributions.into_iter().map(|contribution| (contribution.name, contribution.item)).collect()
    }

    #[test]
    fn each_metric_has_its_own_winner() {
        // by sum the first wins; per code point (-1 and -0.75) and per byte (-1 and -0.375) the second
        let items = items(json!(1), &["ab", "éééé"], &[-2.0, -3.0]);
        assert_eq!(items[0], ("acc".into(), SampleValue::Hit(false)));
        assert_eq!(items[1], ("acc_norm".into(), SampleValue::Hit(true)));
        assert_eq!(items[2], ("acc_bytes".into(), SampleValue::Hit(true)));
        assert_eq!(items[3], ("exact_match".into(), SampleValue::Hit(false)));
        // numpy: softmax([-2, -3]) = [0.7310585786300049, 0.2689414213699951]; sum of squared distances from [0, 1]
        let SampleValue::Score(brier) = items[4].1 else { panic!("{items:?}") };
        assert!((brier - 1.068893290777046).abs() < 1e-12, "{brier}");
    }

    #[test]
    fn mutual_information_takes_off_what_an_answer_is_alone() {
        let mut sample = loglikelihood(0, json!(1), &["frequent", "rare"]);
        let Body::Loglikelihood { options, .. } = &mut sample.body else { panic!("{sample:?}") };
        options.extend(options.iter().map(OptionText::alone).collect::<Vec<_>>());
        let metrics = vec![ChoiceMetric::Acc, ChoiceMetric::AccMutualInfo];
        let spec = EvalSpec::new(EvaluatorSpec::MultipleChoice { metrics });
        // gains 3 and 7: the second, which by sum is far behind
        let score = judge(&sample, &loglikelihood_result(0, &[-2.0, -5.0, -5.0, -12.0]), &spec).unwrap();
        let items: Vec<SampleValue> = score.contributions.into_iter().map(|contribution| contribution.item).collect();
        assert_eq!(items, [SampleValue::Hit(false), SampleValue::Hit(true)]);
        assert_eq!(score.prediction, json!(0));
        let unasked = judge(&loglikelihood(0, json!(1), &["a", "b"]), &loglikelihood_result(0, &[-2.0, -5.0]), &spec);
        assert!(unasked.is_err());
    }

    #[test]
    fn f1_is_of_the_second_of_two_options() {
        let spec = EvalSpec::new(EvaluatorSpec::MultipleChoice { metrics: vec![ChoiceMetric::Acc, ChoiceMetric::F1] });
        let mut accumulator = Accumulator::new(&spec);
        // gold, chosen: (1, 1), (1, 0), (0, 1), (0, 0), (1, 1)
        for (index, (gold, sums)) in
            [(1, [-2.0, -1.0]), (1, [-1.0, -2.0]), (0, [-2.0, -1.0]), (0, [-1.0, -2.0]), (1, [-3.0, -2.0])]
                .iter()
                .enumerate()
        {
            let index = index as u32;
            accumulator.observe(&loglikelihood(index, json!(gold), &["no", "yes"]), &loglikelihood_result(index, sums));
        }
        // sklearn.metrics.f1_score([1, 1, 0, 0, 1], [1, 0, 1, 0, 1])
        let metrics = accumulator.finish();
        assert!((metrics.get("f1").unwrap().value - 66.66666666666667).abs() < 1e-12, "{metrics:?}");
        let three = judge(&loglikelihood(0, json!(1), &["a", "b", "c"]), &loglikelihood_result(0, &[-1.0; 3]), &spec);
        assert_eq!(three.unwrap_err().0, "`f1` of multiple choice is of two options, and there are 3");
    }

    #[test]
    fn bytes_differ_from_code_points() {
        // per code point -0.9 and -1, per byte -0.9 and -0.33
        let items = items(json!(0), &["a", "日本語"], &[-0.9, -3.0]);
        assert_eq!((&items[1].1, &items[2].1), (&SampleValue::Hit(true), &SampleValue::Hit(false)));
    }

    #[test]
    fn several_golds_or_none() {
        assert_eq!(items(json!([0, 1]), &["a", "b"], &[-2.0, -1.0])[0].1, SampleValue::Hit(true));
        let none = items(json!(7), &["a", "b"], &[-2.0, -1.0]);
        assert!(none.iter().all(|(_, item)| *item == SampleValue::Hit(false)), "{none:?}");
        assert_eq!(none.len(), 4, "no Brier score without a gold option");
    }
}
