//! `tokenizer_config.json`: which strings are BOS and EOS, and what the tokenizer class would add by itself.

use crate::config::read_json;
use compass_common::engine::EngineFault;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// What is read of tokenizer_config.json; all of it may be absent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TokenizerSettings {
    pub(crate) bos_token: Option<String>,
    pub(crate) eos_token: Option<String>,
    pub(crate) add_bos_token: Option<bool>,
    pub(crate) clean_up_tokenization_spaces: bool,
    /// Absent where the file says "infinite" (a number of thirty digits) or nothing.
    pub(crate) model_max_length: Option<u32>,
}

#[derive(Deserialize)]
struct RawSettings {
    bos_token: Option<Value>,
    eos_token: Option<Value>,
    add_bos_token: Option<bool>,
    clean_up_tokenization_spaces: Option<bool>,
    model_max_length: Option<f64>,
}

/// A token is written as a string or as an object with its `content`.
fn token_text(value: Option<Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text),
        Value::Object(fields) => fields.get("content").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

impl TokenizerSettings {
    /// Reads the file of `directory`; a missing one means nothing is set.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when it is malformed.
    pub(crate) fn read(directory: &Path) -> Result<Self, EngineFault> {
        let Some(raw) = read_json::<RawSettings>(&directory.join("tokenizer_config.json"))? else {
            return Ok(Self::default());
        };
        let finite = |length: &f64| *length >= 1.0 && *length <= f64::from(u32::MAX);
        Ok(Self {
            bos_token: token_text(raw.bos_token),
            eos_token: token_text(raw.eos_token),
            add_bos_token: raw.add_bos_token,
            clean_up_tokenization_spaces: raw.clean_up_tokenization_spaces.unwrap_or(false),
            model_max_length: raw.model_max_length.filter(finite).map(|length| length as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_token_and_of_no_limit() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(TokenizerSettings::read(directory.path()).unwrap(), TokenizerSettings::default());
        let text = r#"{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null,
                       "add_bos_token": true, "model_max_length": 1000000000000000019884624838656}"#;
        std::fs::write(directory.path().join("tokenizer_config.json"), text).unwrap();
        let settings = TokenizerSettings::read(directory.path()).unwrap();
        assert_eq!(settings.bos_token.as_deref(), Some("<s>"));
        assert_eq!(settings.eos_token.as_deref(), Some("</s>"));
        assert_eq!((settings.add_bos_token, settings.model_max_length), (Some(true), None));
        std::fs::write(directory.path().join("tokenizer_config.json"), "{").unwrap();
        let fault = TokenizerSettings::read(directory.path()).unwrap_err().to_string();
        assert!(fault.contains("tokenizer_config.json"), "{fault}");
    }
}
