//! Regular expressions of tokenizer.json with the meaning that Hugging Face gives them.
//!
//! Python's tokenizers compile them with Oniguruma, where `^` and `$` match at every line. The pure-Rust engine used
//! here would match them only at the ends of the text, and texts with line breaks would have other tokens.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokenizers::{DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

/// The parts of tokenizer.json that may hold regular expressions.
#[derive(Deserialize)]
struct TokenizerParts {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    decoder: Option<Value>,
}

/// Makes anchors match at lines, in a tokenizer that was read from `bytes`.
///
/// # Errors
/// A message about an invalid part.
pub(super) fn match_at_lines(tokenizer: &mut Tokenizer, bytes: &[u8]) -> Result<(), String> {
    let parts: TokenizerParts = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if let Some(normalizer) = rewritten(parts.normalizer)? {
        let set = tokenizer.with_normalizer(Some::<NormalizerWrapper>(normalizer));
        set.map_err(|error| error.to_string())?;
    }
    if let Some(pre_tokenizer) = rewritten(parts.pre_tokenizer)? {
        tokenizer.with_pre_tokenizer(Some::<PreTokenizerWrapper>(pre_tokenizer));
    }
    if let Some(decoder) = rewritten(parts.decoder)? {
        tokenizer.with_decoder(Some::<DecoderWrapper>(decoder));
    }
    Ok(())
}

/// Returns the part with its expressions rewritten; `None` if nothing changes.
fn rewritten<T: DeserializeOwned>(part: Option<Value>) -> Result<Option<T>, String> {
    let Some(mut part) = part else { return Ok(None) };
    if !rewrite(&mut part) {
        return Ok(None);
    }
    serde_json::from_value(part).map(Some).map_err(|error| error.to_string())
}

/// Prepends the multi-line flag to every expression with an anchor; returns whether there was one.
fn rewrite(value: &mut Value) -> bool {
    let mut any = false;
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(pattern) if key == "Regex" && pattern.contains(['^', '$']) => {
                        *pattern = format!("(?m){pattern}");
                        any = true;
                    }
                    _ => any |= rewrite(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| any |= rewrite(item)),
        _ => {}
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_expressions_with_anchors_change() {
        let mut value = json!([{"pattern": {"Regex": "^ +| +$"}}, {"pattern": {"Regex": "\\s+"}}, {"String": "^"}]);
        assert!(rewrite(&mut value));
        let expected = json!([{"pattern": {"Regex": "(?m)^ +| +$"}}, {"pattern": {"Regex": "\\s+"}}, {"String": "^"}]);
        assert_eq!(value, expected);
        assert!(!rewrite(&mut json!({"type": "Prepend", "prepend": "^"})));
    }
}
