//! generation_config.json: what the model's makers want of a generation when nobody says otherwise.
//!
//! transformers' `generate` obeys this file also where a person asked for nothing but a length; so does this engine.

use crate::config::read_json;
use compass_common::engine::EngineFault;
use serde_json::{Map, Value};
use std::path::Path;

/// What is read of the file; all of it may be absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GenerationDefaults {
    pub(super) temperature: Option<f64>,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f64>,
    pub(super) repetition_penalty: Option<f64>,
    pub(super) pad: Option<u32>,
    /// One or several.
    pub(super) eos: Vec<u32>,
}

/// Keys that change what is generated and are not obeyed.
const NOT_OBEYED: [&str; 14] = [
    "no_repeat_ngram_size",
    "encoder_repetition_penalty",
    "bad_words_ids",
    "suppress_tokens",
    "begin_suppress_tokens",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "sequence_bias",
    "exponential_decay_length_penalty",
    "min_length",
    "min_new_tokens",
    "num_beams",
    "penalty_alpha",
    "guidance_scale",
];

impl GenerationDefaults {
    /// Reads the file of `directory`, if there is one. `notes` receives what it asks for that is not obeyed, and a
    /// repetition penalty, which changes even greedy answers.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when the file is malformed.
    pub(super) fn read(directory: &Path, notes: &mut Vec<String>) -> Result<Self, EngineFault> {
        let file: Map<String, Value> = read_json(&directory.join("generation_config.json"))?.unwrap_or_default();
        for key in NOT_OBEYED {
            if file.get(key).is_some_and(|value| !changes_nothing(value)) {
                notes.push(format!("generation_config.json sets {key}, which is not obeyed"));
            }
        }
        let number = |key: &str| file.get(key).and_then(Value::as_f64);
        let defaults = Self {
            temperature: number("temperature"),
            top_k: number("top_k").map(|k| k as u32),
            top_p: number("top_p"),
            repetition_penalty: number("repetition_penalty"),
            pad: ids(file.get("pad_token_id")).first().copied(),
            eos: ids(file.get("eos_token_id")),
        };
        if let Some(penalty) = defaults.repetition_penalty.filter(|&penalty| penalty != 1.0) {
            notes.push(format!(
                "generation_config.json sets repetition_penalty {penalty}, which holds for greedy answers too, as with \
                 transformers; generation_kwargs.repetition_penalty = 1.0 switches it off"
            ));
        }
        Ok(defaults)
    }
}

/// Absent, false, an empty list, 0 and 1 are how transformers writes that a rule is off.
fn changes_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64().is_some_and(|number| number == 0.0 || number == 1.0),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn ids(value: Option<&Value>) -> Vec<u32> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Some(Value::Array(values)) => values.iter().filter_map(id).collect(),
        Some(value) => id(value).into_iter().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_makers_want() {
        let directory = tempfile::tempdir().unwrap();
        let mut notes = Vec::new();
        assert_eq!(GenerationDefaults::read(directory.path(), &mut notes).unwrap(), GenerationDefaults::default());
        let text = r#"{"eos_token_id": [5, 7], "pad_token_id": 5, "temperature": 0.7, "top_k": 20, "top_p": 0.8,
                       "repetition_penalty": 1.05, "do_sample": true, "num_beams": 1, "no_repeat_ngram_size": 3}"#;
        std::fs::write(directory.path().join("generation_config.json"), text).unwrap();
        let defaults = GenerationDefaults::read(directory.path(), &mut notes).unwrap();
        assert_eq!((defaults.eos, defaults.pad, defaults.top_k), (vec![5, 7], Some(5), Some(20)));
        assert_eq!(
            (defaults.temperature, defaults.top_p, defaults.repetition_penalty),
            (Some(0.7), Some(0.8), Some(1.05))
        );
        assert!(
            notes.len() == 2 && notes[0].contains("no_repeat_ngram_size") && notes[1].contains("1.05"),
            "{notes:?}"
        );
    }
}
