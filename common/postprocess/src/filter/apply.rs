//! A pipeline of filters over the responses to one document.

use super::entities;
use super::responses::{items, text};
use super::{Filter, FilterError};
use compass_pyfmt::strip;
use serde_json::Value;

/// Applies `steps` to the responses to a document with these options (its `choices`; empty where it has none).
///
/// The result is a single answer after `take_first`, else a list. A later step takes a single text for the list of its
/// characters, as lm-eval does.
pub fn apply_filters(steps: &[Filter], responses: &[&str], options: &[String]) -> Result<Value, FilterError> {
    let responses = Value::from(responses.to_vec());
    steps.iter().try_fold(responses, |responses, step| step.apply(responses, options))
}

impl Filter {
    fn apply(&self, responses: Value, options: &[String]) -> Result<Value, FilterError> {
        match self {
            Self::TakeFirst => return items(responses)?.into_iter().next().ok_or(FilterError::Empty),
            Self::TakeFirstK { k } => return first_k(responses, *k),
            _ => {}
        }
        let items = items(responses)?;
        let texts = |make: fn(&str) -> String| -> Result<Vec<Value>, FilterError> {
            items.iter().map(|item| text(item).map(|text| Value::from(make(text)))).collect()
        };
        let filtered = match self {
            Self::Regex(selector) => items.iter().map(|item| selector.apply(item)).collect::<Result<Vec<_>, _>>()?,
            Self::MultiChoiceRegex(choice) => choice.apply(&items, options)?,
            Self::RegexPos { fallback } => {
                items.iter().map(|item| entities::parts_of_speech(item, fallback)).collect::<Result<Vec<_>, _>>()?
            }
            Self::FormatSpan => texts(entities::format_span)?,
            Self::RemoveWhitespace => texts(|text| strip(text).to_owned())?,
            Self::Lowercase => texts(str::to_lowercase)?,
            Self::Uppercase => texts(str::to_uppercase)?,
            Self::Map { mapping, default } => {
                let mapped = |item: &Value| item.as_str().and_then(|text| mapping.get(text)).unwrap_or(default).clone();
                items.iter().map(mapped).collect()
            }
            Self::MajorityVote => vec![majority(&items)?],
            Self::TakeFirst | Self::TakeFirstK { .. } => items,
        };
        Ok(Value::Array(filtered))
    }
}

/// Python's slice `[:k]`, of as many responses at least.
fn first_k(responses: Value, k: usize) -> Result<Value, FilterError> {
    let is_text = responses.is_string();
    let mut items = items(responses)?;
    if items.len() < k {
        return Err(FilterError::TooFew { needed: k, found: items.len() });
    }
    items.truncate(k);
    Ok(if is_text { items.iter().filter_map(Value::as_str).collect::<String>().into() } else { items.into() })
}

fn majority(items: &[Value]) -> Result<Value, FilterError> {
    let mut counts: Vec<(&Value, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().ok_or(FilterError::Empty)?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(item, _)| item.clone()).ok_or(FilterError::Empty)
}
