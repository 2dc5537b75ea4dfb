//! Responses as filters take them: a list, each a text.

use super::FilterError;
use serde_json::Value;

/// Returns the items over which Python iterates: the elements of a list, the characters of a text.
pub(super) fn items(responses: Value) -> Result<Vec<Value>, FilterError> {
    match responses {
        Value::Array(items) => Ok(items),
        Value::String(text) => Ok(text.chars().map(|c| Value::from(c.to_string())).collect()),
        other => Err(FilterError::NotResponses(other.to_string())),
    }
}

/// A response that is a text.
pub(super) fn text(item: &Value) -> Result<&str, FilterError> {
    item.as_str().ok_or_else(|| FilterError::NotText(item.to_string()))
}
