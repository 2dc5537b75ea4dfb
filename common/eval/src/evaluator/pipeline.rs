//! lm-eval's filter pipelines: each makes one answer of all responses, and has metrics of its own.

use super::Unscored;
use compass_plan::evaluation::FilterPipeline;
use compass_postprocess::apply_filters;
use serde_json::Value;

/// The one answer that the steps of `pipeline` make of `responses`. `multi_choice_regex` looks for the texts in `choices` of a gold
/// answer that is a table.
///
/// # Errors
/// A step cannot be applied, or several answers are left.
pub(super) fn apply(pipeline: &FilterPipeline, responses: &[&str], gold: &Value) -> Result<Value, Unscored> {
    let choices = gold.get("choices").and_then(Value::as_array);
    let choices = choices.into_iter().flatten().filter_map(|choice| choice.as_str().map(str::to_owned));
    let options: Vec<String> = choices.collect();
    let failed = |why: String| Unscored(format!("filter `{}`: {why}", pipeline.name));
    match apply_filters(&pipeline.steps, responses, &options).map_err(|error| failed(error.to_string()))? {
        Value::Array(mut answers) if answers.len() == 1 => Ok(answers.remove(0)),
        Value::Array(answers) => Err(failed(format!("{} answers are left, end it with take_first", answers.len()))),
        answer => Ok(answer),
    }
}

/// The most frequent answer, the first seen of equals: self-consistency (Wang et al. 2022), `Counter.most_common(1)`.
pub(super) fn majority(answers: Vec<Value>) -> Option<Value> {
    let count = |answer: &Value| answers.iter().filter(|other| *other == answer).count();
    let most = answers.iter().map(&count).max()?;
    answers.iter().find(|answer| count(answer) == most).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_of_the_most_frequent() {
        let vote = |answers: Value| majority(answers.as_array().unwrap().clone());
        assert_eq!(vote(json!(["3", "5", "5", "3", "4"])), Some(json!("3")));
        assert_eq!(vote(json!(["4", "5", "5"])), Some(json!("5")));
        assert_eq!(vote(json!([])), None);
    }
}
