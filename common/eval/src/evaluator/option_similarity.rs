//! OpenCompass's `OptionSimAccEvaluator`: golds are rows, an answer beside the options' texts by letter.

use super::Unscored;
use super::metric_contribution::Aggregation;
use super::scored_answer::{AnswerScore, ScoredAnswer};
use compass_metrics::option::option_meant;
use compass_postprocess::FirstOption;
use compass_pyfmt::python_str;
use serde_json::Value;

/// Scores whether the option that the output means is the gold one.
///
/// # Errors
/// The gold answer is not a table with `answer` and every option.
pub(super) fn judge(question: &ScoredAnswer<'_>, options: &FirstOption) -> Result<AnswerScore, Unscored> {
    let missing = |key: &str| Unscored(format!("the gold answer is no row with `{key}`"));
    let gold = question.gold.get("answer").map(python_str).ok_or_else(|| missing("answer"))?;
    let text = |letter: char| {
        let key = letter.to_string();
        let value = question.gold.get(&key).ok_or_else(|| missing(&key))?;
        Ok((*value != Value::Null).then(|| python_str(value)))
    };
    let texts: Vec<Option<String>> = options.letters().chars().map(text).collect::<Result<_, Unscored>>()?;
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let meant = option_meant(options, &question.text(), &texts);
    let correct = meant.is_some_and(|letter| String::from(letter) == gold);
    Ok(AnswerScore::proportion("accuracy", Aggregation::Proportion, correct, vec![gold]))
}
