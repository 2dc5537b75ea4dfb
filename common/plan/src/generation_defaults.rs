//! generation_config.json: what the model's makers want of a generation where the configuration is silent.
//!
//! transformers' `generate` obeys this file also where a person asked for nothing but a length; so does the engine. It is
//! read once for a job and pinned, so that no worker decides it again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Values that are read from the file; all of them may be absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenerationDefaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    /// Token id that fills up shorter rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<u32>,
    /// Token ids that end a generation, one or several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eos: Vec<u32>,
}

/// Keys that change what is generated and are not obeyed, each with the number by which it is switched off; one without a number is an
/// id or a list.
const NOT_OBEYED: [(&str, Option<f64>); 18] = [
    ("no_repeat_ngram_size", Some(0.0)),
    ("encoder_repetition_penalty", Some(1.0)),
    ("bad_words_ids", None),
    ("suppress_tokens", None),
    ("begin_suppress_tokens", None),
    ("forced_bos_token_id", None),
    ("forced_eos_token_id", None),
    ("sequence_bias", None),
    ("exponential_decay_length_penalty", None),
    ("min_length", Some(0.0)),
    ("min_new_tokens", Some(0.0)),
    ("min_p", Some(0.0)),
    ("typical_p", Some(1.0)),
    ("epsilon_cutoff", Some(0.0)),
    ("eta_cutoff", Some(0.0)),
    ("num_beams", Some(1.0)),
    ("penalty_alpha", Some(0.0)),
    ("guidance_scale", Some(1.0)),
];

impl GenerationDefaults {
    /// Reads what the file says.
    pub fn of(file: &Map<String, Value>) -> Self {
        let number = |key: &str| file.get(key).and_then(Value::as_f64);
        Self {
            temperature: number("temperature"),
            top_k: number("top_k").map(|k| k as u32),
            top_p: number("top_p"),
            repetition_penalty: number("repetition_penalty"),
            pad: ids(file.get("pad_token_id")).first().copied(),
            eos: ids(file.get("eos_token_id")),
        }
    }

    /// Returns the keys of the file that ask for something that is not obeyed.
    pub fn not_obeyed(file: &Map<String, Value>) -> impl Iterator<Item = &'static str> + '_ {
        let asks = |(key, off): &(&str, Option<f64>)| file.get(*key).is_some_and(|value| !changes_nothing(value, *off));
        NOT_OBEYED.into_iter().filter(asks).map(|(key, _)| key)
    }

    /// Returns whether a file asks for draws.
    pub fn draws(file: &Map<String, Value>) -> bool {
        file.get("do_sample") == Some(&Value::Bool(true))
    }

    /// The settings of draws in words: `temperature 0.7, top_k 20`; empty without any.
    pub fn shown_draws(&self) -> String {
        self.draw_settings().into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn draw_settings(&self) -> [Option<String>; 4] {
        let number = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value}"));
        [
            number("temperature", self.temperature),
            self.top_k.map(|k| format!("top_k {k}")),
            number("top_p", self.top_p),
            number("repetition_penalty", self.repetition_penalty),
        ]
    }

    /// The settings in words, for errors: `temperature 0.7, top_k 20`.
    pub fn shown(&self) -> String {
        let pad = self.pad.map(|id| format!("pad_token_id {id}"));
        let eos = (!self.eos.is_empty()).then(|| format!("eos_token_id {:?}", self.eos));
        let settings: Vec<String> = self.draw_settings().into_iter().chain([pad, eos]).flatten().collect();
        if settings.is_empty() { "empty".to_owned() } else { settings.join(", ") }
    }
}

/// Null, false, an empty list, and the number `off` are how transformers writes that a rule is off.
fn changes_nothing(value: &Value, off: Option<f64>) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => off.is_some() && number.as_f64() == off,
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
        assert_eq!(GenerationDefaults::of(&Map::new()), GenerationDefaults::default());
        let text = r#"{"eos_token_id": [5, 7], "pad_token_id": 5, "temperature": 0.7, "top_k": 20, "top_p": 0.8,
                       "repetition_penalty": 1.05, "do_sample": true, "num_beams": 1, "no_repeat_ngram_size": 3}"#;
        let file = serde_json::from_str(text).unwrap();
        let defaults = GenerationDefaults::of(&file);
        let shown =
            "temperature 0.7, top_k 20, top_p 0.8, repetition_penalty 1.05, pad_token_id 5, eos_token_id [5, 7]";
        assert_eq!(defaults.shown(), shown);
        assert_eq!(defaults.shown_draws(), "temperature 0.7, top_k 20, top_p 0.8, repetition_penalty 1.05");
        assert!(GenerationDefaults::draws(&file) && !GenerationDefaults::draws(&Map::new()));
        assert_eq!(GenerationDefaults::not_obeyed(&file).collect::<Vec<_>>(), ["no_repeat_ngram_size"]);
        let noted = |text: &str| {
            let file = serde_json::from_str(text).unwrap();
            GenerationDefaults::not_obeyed(&file).collect::<Vec<_>>()
        };
        assert_eq!(
            noted(r#"{"no_repeat_ngram_size": 1, "min_new_tokens": 1, "forced_eos_token_id": 0}"#),
            ["no_repeat_ngram_size", "forced_eos_token_id", "min_new_tokens"]
        );
        let off = r#"{"no_repeat_ngram_size": 0, "num_beams": 1, "guidance_scale": 1.0, "typical_p": 1, "suppress_tokens": []}"#;
        assert!(noted(off).is_empty(), "{:?}", noted(off));
        let again = serde_json::from_slice(&serde_json::to_vec(&defaults).unwrap()).unwrap();
        assert_eq!(defaults, again);
    }
}
