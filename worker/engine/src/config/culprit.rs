//! Finds the invalid key of a configuration.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `T` from an object; on failure names the invalid key, which serde's message does only for a missing one.
///
/// # Errors
/// A message that names the key.
pub(super) fn read<T: DeserializeOwned>(keys: &Value) -> Result<T, String> {
    let message = match T::deserialize(keys) {
        Ok(read) => return Ok(read),
        Err(error) => error.to_string(),
    };
    let Value::Object(all) = keys else { return Err(message) };
    // The key without which the object is valid, or has another error.
    let culprit = all.keys().find(|key| {
        let mut others = all.clone();
        others.shift_remove(key.as_str());
        T::deserialize(Value::Object(others)).err().is_none_or(|error| error.to_string() != message)
    });
    match culprit {
        Some(key) => Err(format!("`{key}`: {message}")),
        None => Err(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Keys {
        layers: usize,
        eps: Option<f64>,
    }

    #[test]
    fn names_the_key() {
        assert_eq!(read(&json!({"layers": 2, "other": []})), Ok(Keys { layers: 2, eps: None }));
        let message = |keys: Value| read::<Keys>(&keys).unwrap_err();
        assert!(message(json!({"eps": 1.0, "layers": -1})).starts_with("`layers`: invalid value: integer `-1`"));
        assert!(message(json!({"eps": "small", "layers": 1})).starts_with("`eps`: invalid type"));
        assert!(message(json!({"eps": 1.0})).contains("missing field `layers`"));
        assert!(message(json!([1])).contains("invalid"));
    }
}
