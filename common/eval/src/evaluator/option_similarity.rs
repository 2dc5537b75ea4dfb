//! OpenCompass's `OptionSimAccEvaluator`: golds are rows, an answer beside the options' texts by letter.

use super::Unscored;
use super::question::{Judgement, Question};
use super::share::Rule;
use compass_metrics::option::option_meant;
use compass_postprocess::FirstOption;
use compass_pyfmt::python_str;
use serde_json::Value;

/// Whether the option that the output means is the gold one.
///
/// # Errors
/// The gold answer is not a table with `answer` and every option.
pub(super) fn judge(question: &Question<'_>, options: &FirstOption) -> Result<Judgement, Unscored> {
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
    let correct = meant.map(String::from).unwrap_or_default() == gold;
    Ok(Judgement::share("accuracy", Rule::Share, correct, vec![gold]))
}
