//! From a result to the score of its sample.

use super::metric_contribution::MetricContribution;
use super::parsed_output::ParsedOutput;
use super::pipeline::majority;
use super::read_gold::ReadGold;
use super::sample_score::{SampleScore, one_or_list, replicas};
use super::scored_answer::{AnswerScore, ScoredAnswer, processed};
use super::unscored::Unscored;
use super::votes::rivals;
use super::{ACC_NORM, dispatch, execution, pipeline, read_again, second_answers};
use compass_plan::evaluation::{FilterPipeline, Reading};
use compass_plan::{EvalSpec, Sample, Unfinished};
use compass_types::result::{Generation, Outcome, SampleResult};
use serde_json::Value;

/// Judges one sample.
///
/// `ppl` takes the option of the lowest mean, `loglikelihood` the one of the highest sum; of equals the first, said in
/// [`SampleScore::tie`]. Scores that are not finite never win.
///
/// # Errors
/// [`Unscored`] when the sample failed, has no gold answer or no finite score, or when the result does not answer what the
/// sample or the evaluator asks.
pub fn judge(sample: &Sample, result: &SampleResult, spec: &EvalSpec) -> Result<SampleScore, Unscored> {
    let output = ParsedOutput::new(sample, result)?;
    let unfinished = unfinished(&result.outcome);
    if spec.unfinished == Unfinished::Unscored && unfinished.contains(&true) {
        return Err(Unscored("its thinking did not end, and `unfinished = \"unscored\"`".into()));
    }
    if sample.gold.is_null() && spec.evaluator.needs_gold() {
        return Err(Unscored("the data set gives no gold answer".into()));
    }
    if let ParsedOutput::Programs(executions) = output {
        return execution::score(sample, executions, spec);
    }
    let (predictions, tie) = match &output {
        ParsedOutput::Programs(_) => (Vec::new(), false),
        ParsedOutput::Options(options) => (vec![options.chosen().clone()], options.choice.tie),
        ParsedOutput::Texts(texts) => (texts.iter().map(|text| Value::from(*text)).collect(), false),
        ParsedOutput::Turns(texts) => (vec![texts.iter().copied().map(Value::from).collect()], false),
        ParsedOutput::Likelihood(_) => (vec![Value::Null], false),
    };
    let ReadGold { gold, unread } = ReadGold::of(spec, &sample.gold)?;
    let after = |answer: &Value| processed(&spec.pred_postprocessors, answer);
    let is_each = spec.filters.is_empty() && !spec.majority_vote;
    let second = if spec.reading == Reading::First { second_answers(result, spec) } else { None };
    let read = second.map_or_else(|| Ok(Vec::new()), |answers| read_again(sample, &answers, spec))?;
    let none_is_finished = !unfinished.is_empty() && !unfinished.contains(&false);
    let judged = |(at, answer): (usize, &Value)| {
        let prediction = answer.clone();
        let pred_postprocessors = &spec.pred_postprocessors;
        let mut score = dispatch::judge(
            &spec.evaluator,
            &ScoredAnswer { output: &output, prediction, gold: &gold, pred_postprocessors },
        )?;
        // An empty text is a part of every gold answer: what is not there equals nothing, whatever the evaluator says.
        let is_unfinished = if is_each { unfinished.get(at) == Some(&true) } else { none_is_finished };
        if unread || is_unfinished {
            score = score.equal_to_nothing();
        }
        if spec.accuracy_alone {
            score.contributions.retain(|contribution| contribution.name != ACC_NORM);
        }
        if let Some(right) = read.get(at) {
            score = score.read_first(*right);
        }
        Ok::<_, Unscored>(score)
    };
    let several = predictions.len() > 1 && spec.filters.is_empty() && !spec.majority_vote;
    let candidates: Vec<Value> = match &output {
        ParsedOutput::Texts(texts) if !spec.filters.is_empty() => {
            let filtered = spec
                .filters
                .iter()
                .map(|filters| pipeline::apply(filters, texts, &gold).and_then(|answer| after(&answer)));
            filtered.collect::<Result<_, _>>()?
        }
        _ => predictions.iter().map(after).collect::<Result<_, _>>()?,
    };
    let voted = spec.majority_vote && spec.filters.is_empty();
    let candidates = if voted { vote(candidates, &unfinished).into_iter().collect() } else { candidates };
    let scores = candidates.iter().enumerate().map(judged).collect::<Result<Vec<AnswerScore>, Unscored>>()?;
    let answers = scores.first().map(|score| score.answers.clone()).unwrap_or_default();
    let correct: Vec<bool> = scores.iter().filter_map(|score| score.correct).collect();
    let empty_right = !has_blank(&sample.gold)
        && correct.iter().zip(&candidates).any(|(correct, candidate)| *correct && has_blank(candidate));
    let contributions = match several {
        true => {
            let ended = |at: usize| unfinished.get(at) != Some(&true);
            let wrong =
                candidates.iter().zip(&correct).enumerate().filter(|(at, (_, correct))| !**correct && ended(*at));
            let rivals = rivals(spec, wrong.map(|(_, (answer, _))| answer));
            replicas(scores, &correct, rivals, &spec.k)
        }
        false if spec.filters.is_empty() => scores.into_iter().flat_map(|score| score.contributions).collect(),
        false => filtered(scores, spec),
    };
    let (prediction, processed) = (one_or_list(predictions), one_or_list(candidates));
    Ok(SampleScore {
        prediction,
        processed,
        answers,
        tie,
        correct,
        gold_unread: unread,
        empty_right,
        contributions,
        details: None,
    })
}

/// Returns which answers' thinking did not end; empty for what is not generated.
fn unfinished(outcome: &Outcome) -> Vec<bool> {
    match outcome {
        Outcome::Generated(answers) => answers.iter().map(Generation::is_unfinished).collect(),
        _ => Vec::new(),
    }
}

/// Returns the most frequent of the answers that were finished, of all if none was.
fn vote(candidates: Vec<Value>, unfinished: &[bool]) -> Option<Value> {
    let finished = candidates.iter().zip(unfinished).filter(|(_, unfinished)| !**unfinished);
    let finished: Vec<Value> = finished.map(|(candidate, _)| candidate.clone()).collect();
    majority(if finished.is_empty() { candidates } else { finished })
}

/// Returns whether a text, or one of a list, is blank.
fn has_blank(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_blank),
        value => value.as_str().is_some_and(|text| text.trim().is_empty()),
    }
}

/// The contributions of every pipeline's answer, each under the pipeline's name, one pipeline after the other.
fn filtered(scores: Vec<AnswerScore>, spec: &EvalSpec) -> Vec<MetricContribution> {
    let of = |(at, (score, pipeline)): (usize, (AnswerScore, &FilterPipeline))| {
        let named = |contribution: MetricContribution| {
            let (rank, name) =
                (at as u16 * RANKS + contribution.rank, format!("{},{}", contribution.name, pipeline.name));
            MetricContribution { rank, name, ..contribution }
        };
        score.contributions.into_iter().map(named).collect::<Vec<_>>()
    };
    scores.into_iter().zip(&spec.filters).enumerate().flat_map(of).collect()
}

/// AllSeries of one pipeline at most.
const RANKS: u16 = 64;

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::super::metric_contribution::SampleValue;
    use super::*;
    use compass_plan::evaluation::{EvaluatorSpec, ExactMatchSpec};
    use compass_postprocess::Filter;
    use compass_postprocess::Postprocessor;
    use compass_types::result::{Finish, ThinkingEnd, Thought};
    use serde_json::json;

    #[test]
    fn the_lowest_mean_wins() {
        let sample = ppl(0, json!(1), &[json!(0), json!(1), json!(2)]);
        let score = judge(&sample, &ppl_result(0, &[(9.0, 3), (8.0, 4), (2.0, 1)]), &acc()).unwrap();
        assert_eq!((score.prediction, score.tie, score.correct), (json!(1), true, vec![true]));
        assert_eq!((score.processed, score.answers), (json!(1), vec!["1".to_string()]));
        assert_eq!(score.contributions.len(), 1);
    }

    #[test]
    fn the_highest_sum_wins_and_code_points_normalise() {
        let sample = loglikelihood(0, json!(1), &["ab", "abcd", ""]);
        let score = judge(&sample, &loglikelihood_result(0, &[-2.0, -3.0, -9.0]), &acc()).unwrap();
        assert_eq!((score.prediction, score.correct), (json!(0), vec![false]));
        let lines: Vec<_> =
            score.contributions.into_iter().map(|contribution| (contribution.name, contribution.item)).collect();
        assert_eq!(lines, [("accuracy".into(), SampleValue::Hit(false)), ("acc_norm".into(), SampleValue::Hit(true))]);
    }

    #[test]
    fn the_accuracy_of_ll_stands_alone() {
        let sample = loglikelihood(0, json!(1), &["ab", "abcd"]);
        let spec = EvalSpec { accuracy_alone: true, ..acc() };
        let score = judge(&sample, &loglikelihood_result(0, &[-2.0, -3.0]), &spec).unwrap();
        let names: Vec<_> = score.contributions.into_iter().map(|contribution| contribution.name).collect();
        assert_eq!(names, ["accuracy"]);
    }

    #[test]
    fn scores_that_are_no_numbers() {
        let sample = ppl(0, json!("B"), &[json!("A"), json!("B")]);
        let score = judge(&sample, &ppl_result(0, &[(f64::NEG_INFINITY, 3), (8.0, 4)]), &acc()).unwrap();
        assert_eq!(score.prediction, json!("B"));
        let unscored = judge(&sample, &ppl_result(0, &[(f64::NAN, 3), (f64::INFINITY, 4)]), &acc()).unwrap_err();
        assert_eq!(unscored.to_string(), "no option has a finite score");
    }

    #[test]
    fn postprocessors_apply_to_both_sides() {
        let mut spec = acc();
        spec.evaluator = EvaluatorSpec::Gsm8k;
        spec.pred_postprocessors = vec![Postprocessor::Gsm8k];
        spec.dataset_postprocessors = vec![Postprocessor::Gsm8kDataset];
        let sample = generate(0, json!("so 2 * 600 = 1,200\n#### 1,200"));
        let score = judge(&sample, &generated(0, "It is 1200.0\nQuestion: 5"), &spec).unwrap();
        assert_eq!((score.processed, score.correct), (json!("1200.0"), vec![true]));
        assert_eq!(score.prediction, json!("It is 1200.0\nQuestion: 5"));
        assert_eq!(judge(&sample, &generated(0, "no idea"), &spec).unwrap().correct, [false]);
    }

    #[test]
    fn golds_are_postprocessed_one_by_one() {
        let mut spec = EvalSpec::new(EvaluatorSpec::Em);
        spec.dataset_postprocessors = vec![Postprocessor::Gsm8kDataset];
        let score = judge(&generate(0, json!(["#### 1,0", "#### 2"])), &generated(0, "10"), &spec).unwrap();
        assert_eq!((score.answers, score.correct), (vec!["10".into(), "2".into()], vec![true]));
    }

    fn answers(texts: &[&str]) -> SampleResult {
        let answer = |text: &&str| Generation::new(*text, 1, Finish::Stop);
        result(0, Outcome::Generated(texts.iter().map(answer).collect()))
    }

    fn names(score: &SampleScore) -> Vec<(u16, &str, &SampleValue)> {
        score
            .contributions
            .iter()
            .map(|contribution| (contribution.replica, contribution.name.as_str(), &contribution.item))
            .collect()
    }

    #[test]
    fn several_answers_are_replicas() {
        let spec = EvalSpec { k: vec![2], ..acc() };
        let score = judge(&generate(0, json!("A")), &answers(&["A", "B", "A"]), &spec).unwrap();
        assert_eq!(
            (score.prediction.clone(), score.correct.clone()),
            (json!(["A", "B", "A"]), vec![true, false, true])
        );
        let expected = [
            (1, "accuracy", &SampleValue::Hit(true)),
            (2, "accuracy", &SampleValue::Hit(false)),
            (3, "accuracy", &SampleValue::Hit(true)),
            (0, "replicas", &SampleValue::Counts(vec![2, 3, 0, 1])),
        ];
        assert_eq!(names(&score), expected);
    }

    #[test]
    fn the_majority_stands_for_all() {
        let mut spec = EvalSpec { majority_vote: true, ..acc() };
        spec.pred_postprocessors = vec![Postprocessor::Gsm8k];
        let score = judge(&generate(0, json!("4")), &answers(&["it is 5", "so 4", "4"]), &spec).unwrap();
        assert_eq!((score.processed, score.correct), (json!("4"), vec![true]));
        assert_eq!(score.contributions.len(), 1);
    }

    #[test]
    fn each_pipeline_has_its_own_metrics() {
        let regex = |pattern: &str| {
            let parameters = json!({"regex_pattern": pattern});
            Filter::named("regex", parameters.as_object().unwrap()).unwrap()
        };
        let pipeline = |name: &str, pattern: &str| FilterPipeline {
            name: name.into(),
            steps: vec![regex(pattern), Filter::TakeFirst],
        };
        let mut spec = EvalSpec::new(EvaluatorSpec::ExactMatch(ExactMatchSpec::default()));
        spec.filters = vec![pipeline("strict", r"#### (\d+)"), pipeline("flexible", r"(\d+)")];
        let score = judge(&generate(0, json!("7")), &answers(&["7 it is"]), &spec).unwrap();
        assert_eq!(score.processed, json!(["[invalid]", "7"]));
        let expected =
            [(0, "exact_match,strict", &SampleValue::Hit(false)), (0, "exact_match,flexible", &SampleValue::Hit(true))];
        assert_eq!(names(&score), expected);
        spec.filters[0].steps.pop();
        let why = judge(&generate(0, json!("7")), &answers(&["7", "8"]), &spec).unwrap_err();
        assert_eq!(why.to_string(), "filter `strict`: 2 answers are left, end it with take_first");
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

    #[test]
    fn an_answer_whose_thinking_did_not_end_is_wrong_whatever_it_equals() {
        let thought = |end| Some(Thought { text: "so".into(), tokens: 1, end });
        let answer =
            |text: &str, end| Generation { thinking: thought(end), ..Generation::new(text, 1, Finish::Length) };
        let sample = generate(0, json!(""));
        let correct = |answers: &[Generation], spec: &EvalSpec| {
            let result = result(0, Outcome::Generated(answers.to_vec()));
            judge(&sample, &result, spec).map(|score| score.correct)
        };
        let em = EvalSpec::new(EvaluatorSpec::Em);
        let (closed, cut) = (answer("", ThinkingEnd::Closed), answer("", ThinkingEnd::Cut));
        assert_eq!(correct(std::slice::from_ref(&closed), &em), Ok(vec![true]), "the gold answer is empty too");
        assert_eq!(correct(std::slice::from_ref(&cut), &em), Ok(vec![false]));
        assert_eq!(correct(&[answer("", ThinkingEnd::Ended)], &em), Ok(vec![false]));
        assert_eq!(correct(&[cut.clone(), closed.clone()], &em), Ok(vec![false, true]));
        let voting = EvalSpec { majority_vote: true, ..em.clone() };
        let other = answer("x", ThinkingEnd::Closed);
        assert_eq!(
            correct(&[cut.clone(), cut.clone(), other], &voting),
            Ok(vec![false]),
            "who did not finish has no vote"
        );
        assert_eq!(correct(&[cut.clone(), cut.clone(), closed], &voting), Ok(vec![true]));
        let unscored = EvalSpec { unfinished: Unfinished::Unscored, ..em };
        assert!(correct(&[cut], &unscored).is_err_and(|why| why.to_string().contains("did not end")));
    }
}
