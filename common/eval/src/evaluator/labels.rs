//! Answers that are labels of classes or options, or points of a key.

use super::Unscored;
use super::metric_contribution::{Aggregation, Bounds, SampleValue, Scale};
use super::scored_answer::{AnswerScore, ScoredAnswer};
use compass_metrics::option::{CrowsPairsSentence, GaokaoQuestion, GaokaoScore, crows_pairs_sentence, gaokao_score};
use compass_metrics::overlap::nearest_candidate;
use compass_pyfmt::python_str;
use serde_json::Value;

/// The gold class and the predicted one, for metrics of all pairs.
pub(super) fn classes(question: &ScoredAnswer<'_>, name: &str, rule: Aggregation) -> AnswerScore {
    let (gold, predicted) = (python_str(question.gold), question.text());
    let score = AnswerScore { answers: vec![gold.clone()], correct: Some(gold == predicted), ..AnswerScore::default() };
    score.series(name, rule, SampleValue::Classes(gold, predicted))
}

/// `EDAccEvaluator`: whether the candidate nearest to the output is the one at `label`. A candidate is a text or a list of
/// spellings.
///
/// # Errors
/// The gold answer is not `{ candidates, label }`.
pub(super) fn edit_distance(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let malformed = || Unscored("the gold answer is not of the form { candidates, label }".into());
    let candidates = question.gold.get("candidates").and_then(Value::as_array).ok_or_else(malformed)?;
    let label = question.gold.get("label").and_then(Value::as_u64).ok_or_else(malformed)?;
    let candidates: Vec<Vec<&str>> = candidates.iter().map(spellings).collect();
    let nearest = nearest_candidate(&question.text(), &candidates).ok_or_else(malformed)?;
    Ok(AnswerScore::proportion("accuracy", Aggregation::Proportion, nearest as u64 == label, vec![label.to_string()]))
}

fn spellings(candidate: &Value) -> Vec<&str> {
    match candidate {
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// `AUCROCEvaluator`: the probability of the second option ranks the samples; the gold answer says which are positive.
///
/// # Errors
/// There are not two options or more, or their scores are not finite.
pub(super) fn auc_roc(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let options = question.options()?;
    let (Some(second), Some(label)) = (options.softmax().get(1).copied(), options.labels.get(1)) else {
        return Err(Unscored("`auc_roc` needs two options".into()));
    };
    if !second.is_finite() {
        return Err(Unscored("an option has no finite score".into()));
    }
    let gold = python_str(question.gold);
    let positive = python_str(&question.processed(label)?) == gold;
    let correct = question.text() == gold;
    let score = AnswerScore { answers: vec![gold], correct: Some(correct), ..AnswerScore::default() };
    Ok(score.series("auc_score", Aggregation::AucRoc, SampleValue::Ranked(positive, second)).series(
        "accuracy",
        Aggregation::Proportion,
        SampleValue::Hit(correct),
    ))
}

/// lm-eval's CrowS-Pairs: the difference of the two sentences' log-likelihoods, and whether the first is the likelier.
///
/// # Errors
/// There are not two options with finite log-likelihoods.
pub(super) fn sentence_pair(question: &ScoredAnswer<'_>) -> Result<AnswerScore, Unscored> {
    let options = question.options()?;
    let &[more, less] = options.scores.as_slice() else {
        return Err(Unscored("`sentence_pair` needs two options".into()));
    };
    if !(more.is_finite() && less.is_finite()) {
        return Err(Unscored("an option has no finite score".into()));
    }
    let CrowsPairsSentence { likelihood_diff, pct_stereotype } = crows_pairs_sentence(more, less);
    let mean = Aggregation::Mean { scale: Scale::One, bounds: Bounds::Positive };
    Ok(AnswerScore::default().series("likelihood_diff", mean, SampleValue::Score(likelihood_diff)).series(
        "pct_stereotype",
        Aggregation::Proportion,
        SampleValue::Hit(pct_stereotype > 0.0),
    ))
}

/// `GaokaoBenchEvaluator`: points of the points that the key is worth.
pub(super) fn gaokao(question: &ScoredAnswer<'_>, kind: GaokaoQuestion) -> AnswerScore {
    let key = question.gold_texts();
    let texts: Vec<&str> = key.iter().map(String::as_str).collect();
    let GaokaoScore { points, out_of, correct } = gaokao_score(kind, &question.text(), &texts);
    let item = SampleValue::Weighted(f64::from(points), u64::from(out_of));
    let score = AnswerScore { answers: key, correct: Some(correct), ..AnswerScore::default() };
    score.series("score", Aggregation::Ratio, item)
}
