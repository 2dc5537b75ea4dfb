//! Special tokens in Hugging Face files: a string, or an object with matching rules.

use serde_json::{Map, Value};
use tokenizers::AddedToken;

/// Special tokens with a role, in transformers' order (`SPECIAL_TOKENS_ATTRIBUTES`).
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// One token, with its rules if the file has them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpecialToken {
    pub(super) content: String,
    /// Absent if the file has only the string.
    pub(super) rules: Option<AddedToken>,
}

impl SpecialToken {
    /// Creates a token from its text.
    pub(super) fn plain(content: &str) -> Self {
        Self { content: content.to_owned(), rules: None }
    }

    /// Reads a string or an object; `None` for `null` and for anything else.
    pub(super) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(content) => Some(Self::plain(content)),
            Value::Object(fields) => {
                let rules = added_token(fields)?.special(true);
                Some(Self { content: rules.content.clone(), rules: Some(rules) })
            }
            _ => None,
        }
    }

    /// Returns the token as it is added to a vocabulary: special, and not normalised unless its rules say so.
    pub(super) fn to_added(&self) -> AddedToken {
        self.rules.clone().unwrap_or_else(|| AddedToken::from(self.content.as_str(), true))
    }
}

/// Reads an `AddedToken` object; absent fields have the defaults of transformers' class.
pub(super) fn added_token(fields: &Map<String, Value>) -> Option<AddedToken> {
    let content = fields.get("content")?.as_str()?;
    let flag = |key: &str| fields.get(key).and_then(Value::as_bool);
    let special = flag("special").unwrap_or(false);
    let token = AddedToken::from(content, special)
        .single_word(flag("single_word").unwrap_or(false))
        .lstrip(flag("lstrip").unwrap_or(false))
        .rstrip(flag("rstrip").unwrap_or(false))
        .normalized(flag("normalized").unwrap_or(!special));
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn strings_and_objects_are_tokens() {
        let plain = SpecialToken::read(&json!("<s>")).unwrap();
        assert_eq!(plain.to_added(), AddedToken::from("<s>", true));
        let value = json!({"__type": "AddedToken", "content": "<mask>", "lstrip": true, "normalized": true});
        let token = SpecialToken::read(&value).unwrap().to_added();
        assert_eq!(token, AddedToken::from("<mask>", true).lstrip(true).normalized(true));
        assert_eq!((SpecialToken::read(&json!(null)), SpecialToken::read(&json!({"id": 3}))), (None, None));
    }
}
