//! Choice of tokens when text is generated.

use crate::GenerationDefaults;
use serde::{Deserialize, Serialize};

/// `max_out_len` of an answer that may have all tokens that its prompt leaves of the context.
pub const REST: u32 = u32::MAX;

/// A data set's settings for a generation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenSpec {
    /// Most tokens to generate, or [`REST`]; `None` takes the model's.
    pub max_out_len: Option<u32>,
    /// Fewest tokens before the end token may come; `None` takes the model's.
    pub min_out_len: Option<u32>,
    /// Strings that end a generation, beside the model's own.
    pub stop: Vec<String>,
    /// Choice of tokens; a field that is `None` here is the model's.
    pub decoding: Decoding,
}

/// The settings of transformers' `generation_kwargs` that are served. Nothing set means greedy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decoding {
    /// Set if tokens are drawn; `None` is no, as transformers has it: a temperature alone draws nothing.
    pub do_sample: Option<bool>,
    /// Divides the logits before the softmax; above 0.
    pub temperature: Option<f64>,
    /// Only the k most probable tokens can be drawn; 0 lets all.
    pub top_k: Option<u32>,
    /// Only the smallest set of most probable tokens whose probabilities reach this share can be drawn; in (0, 1].
    pub top_p: Option<f64>,
    /// Divides positive and multiplies negative logits of tokens that occurred (Keskar et al. 2019); above 0.
    pub repetition_penalty: Option<f64>,
    /// Answers to each prompt; 1 unless told.
    pub num_return_sequences: Option<u32>,
    /// From which every draw is derived, together with the sample and the sequence; 0 unless told.
    pub seed: Option<u64>,
    /// Token ids that end a generation, beside the model's own.
    pub stop_ids: Vec<u32>,
    /// Set if the draws are those that the model's generation_config.json held when the configuration was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub card: bool,
}

impl Decoding {
    /// These settings where they are set, `model`'s elsewhere. Stop ids add up.
    #[must_use]
    pub fn over(&self, model: &Self) -> Self {
        let mut stop_ids = model.stop_ids.clone();
        stop_ids.extend(self.stop_ids.iter().filter(|id| !model.stop_ids.contains(id)));
        Self {
            do_sample: self.do_sample.or(model.do_sample),
            temperature: self.temperature.or(model.temperature),
            top_k: self.top_k.or(model.top_k),
            top_p: self.top_p.or(model.top_p),
            repetition_penalty: self.repetition_penalty.or(model.repetition_penalty),
            num_return_sequences: self.num_return_sequences.or(model.num_return_sequences),
            seed: self.seed.or(model.seed),
            stop_ids,
            card: self.card || model.card,
        }
    }

    /// Draws tokens as `card` has it, but for what is set here.
    #[must_use]
    pub fn with_card(&self, card: &GenerationDefaults) -> Self {
        Self {
            do_sample: Some(true),
            temperature: self.temperature.or(card.temperature),
            top_k: self.top_k.or(card.top_k),
            top_p: self.top_p.or(card.top_p),
            repetition_penalty: self.repetition_penalty.or(card.repetition_penalty),
            card: true,
            ..self.clone()
        }
    }

    /// The settings without the draws of a card, which follow from the model's files.
    #[must_use]
    pub fn without_card(&self) -> Self {
        let bare = || Self { temperature: None, top_k: None, top_p: None, repetition_penalty: None, ..self.clone() };
        if self.card { bare() } else { self.clone() }
    }

    /// Describes the draws that came from a card, with what was written before them; `None` without a card.
    pub fn describe_card(&self) -> Option<String> {
        let Self { temperature, top_k, top_p, repetition_penalty, .. } = *self;
        let draws =
            GenerationDefaults { temperature, top_k, top_p, repetition_penalty, ..GenerationDefaults::default() };
        self.card.then(|| format!("draws as generation_config.json has it: {}", draws.shown_draws()))
    }

    /// Returns whether tokens are drawn.
    pub fn samples(&self) -> bool {
        self.do_sample.unwrap_or(false)
    }

    /// Answers to each prompt.
    pub fn sequences(&self) -> u32 {
        self.num_return_sequences.unwrap_or(1).max(1)
    }
}

/// Answers of the assistant that a conversation asks for: OpenCompass's `infer_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatMode {
    /// Only the last one; the earlier ones stand in the conversation.
    #[default]
    Last,
    /// Every one; what the model said is what it is shown in later turns.
    Every,
    /// Every one; the data's own answers are what it is shown in later turns.
    EveryWithGt,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_overrides_its_model() {
        let model = Decoding { temperature: Some(0.7), top_k: Some(5), stop_ids: vec![2, 3], ..Decoding::default() };
        let dataset =
            Decoding { temperature: Some(1.0), do_sample: Some(true), stop_ids: vec![3, 4], ..Decoding::default() };
        let both = dataset.over(&model);
        assert_eq!((both.temperature, both.top_k, both.samples()), (Some(1.0), Some(5), true));
        assert_eq!((both.sequences(), both.stop_ids), (1, vec![2, 3, 4]));
        assert!(!model.samples(), "a temperature alone draws nothing");
    }

    #[test]
    fn the_makers_draws_give_way_to_what_is_written() {
        let card = GenerationDefaults { temperature: Some(0.6), top_p: Some(0.95), ..GenerationDefaults::default() };
        let written = Decoding { temperature: Some(1.0), seed: Some(3), ..Decoding::default() };
        let drawn = written.with_card(&card);
        assert_eq!(
            (drawn.temperature, drawn.top_p, drawn.seed, drawn.samples()),
            (Some(1.0), Some(0.95), Some(3), true)
        );
        assert_eq!(drawn.without_card(), written.with_card(&GenerationDefaults::default()).without_card());
        assert_eq!(written.without_card(), written);
        let described = "draws as generation_config.json has it: temperature 1, top_p 0.95";
        assert_eq!((drawn.describe_card().as_deref(), written.describe_card()), (Some(described), None));
        let text = serde_json::to_string(&written).unwrap();
        assert!(!text.contains("card"), "plans without it are as before: {text}");
        let again: Decoding = serde_json::from_str(&serde_json::to_string(&drawn).unwrap()).unwrap();
        assert_eq!(again, drawn);
    }
}
