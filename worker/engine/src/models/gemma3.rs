//! Gemma 3 (Gemma team 2025): Gemma 2 with queries and keys normalised in place of capped, and a whole view in every sixth layer
//! only, whose heads are turned by other frequencies. Of models with a vision half (`Gemma3ForConditionalGeneration`) the text half
//! is loaded; no prompt has an image.

use super::decoder::{Decoder, Placement, Positions};
use super::gemma2::layer;
use super::pre_norm;
use super::sandwich::SandwichLayer;
use crate::blocks::Attention;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig, RopeConfig};
use crate::kernels::{Pairing, RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    #[serde(default = "defaults::scalar")]
    query_pre_attn_scalar: f64,
    #[serde(default = "defaults::window")]
    sliding_window: Option<i64>,
    attn_logit_softcapping: Option<f64>,
    final_logit_softcapping: Option<f64>,
    layer_types: Option<Vec<String>>,
    /// In older files: every layer at this interval sees everything.
    sliding_window_pattern: Option<usize>,
    use_bidirectional_attention: Option<bool>,
    rope_theta: Option<f64>,
    rope_local_base_freq: Option<f64>,
    /// In newer files by kind of layer.
    rope_parameters: Option<Value>,
    max_position_embeddings: Option<f64>,
}

/// Defaults of transformers' `Gemma3TextConfig` for absent keys.
mod defaults {
    pub(super) fn scalar() -> f64 {
        256.0
    }
    pub(super) fn window() -> Option<i64> {
        Some(4096)
    }
}

/// Places of the two rotations in the model's list.
const WHOLE: usize = 0;
const SLIDING: usize = 1;

impl Keys {
    /// Returns whether a layer sees a window only.
    fn slides(&self, number: usize) -> bool {
        match self.layer_types.as_ref().and_then(|types| types.get(number)) {
            Some(kind) => kind == "sliding_attention",
            None => !(number + 1).is_multiple_of(self.sliding_window_pattern.unwrap_or(6).max(1)),
        }
    }

    /// Returns the rotations of layers that see everything, and of those with a window.
    fn ropes(&self, head_dim: i64) -> Result<[RopeConfig; 2], String> {
        let of_kind = |kind: &str| self.rope_parameters.as_ref().and_then(|all| all.get(kind)).cloned();
        let whole = of_kind("full_attention").or_else(|| self.rope_parameters.clone());
        let positions = (self.max_position_embeddings, None);
        Ok([
            RopeConfig::read(whole, self.rope_theta.unwrap_or(1e6), head_dim, None, positions)?,
            RopeConfig::read(
                of_kind("sliding_attention"),
                self.rope_local_base_freq.unwrap_or(1e4),
                head_dim,
                None,
                positions,
            )?,
        ])
    }
}

/// Loads `Gemma3ForCausalLM` from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match, or the model attends to what follows a token.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults {
        head_dim: Some(256),
        tie_word_embeddings: true,
        activation: "gelu_pytorch_tanh",
        norm: RmsForm::FromOne,
        ..LlamaDefaults::default()
    };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    if keys.use_bidirectional_attention.unwrap_or(false) {
        return Err(
            config.fault("`use_bidirectional_attention` is not supported: such a model does not predict tokens")
        );
    }
    if keys.attn_logit_softcapping.is_some() {
        weights.notes.push("attn_logit_softcapping is not obeyed, as in transformers' Gemma 3".to_owned());
    }
    let ropes = keys.ropes(shape.attention.head_dim).map_err(|what| config.fault(what))?;
    let biases = [keys.attention_bias.unwrap_or(false); 2].into();
    let decoder = pre_norm::load(&shape, weights, to, |number, at, weights| {
        let slides = keys.slides(number);
        let rule = ScoreRule {
            scale: Some(keys.query_pre_attn_scalar.powf(-0.5)),
            window: keys.sliding_window.filter(|_| slides),
            softcap: None,
        };
        let attention = pre_norm::attention(&shape, weights, at, biases, rule)?;
        let self_attn = Attention { qk_norm: Some(pre_norm::qk_norm(&shape, weights, at)?), ..attention };
        let rotation = if slides { SLIDING } else { WHOLE };
        Ok(SandwichLayer { rotation, ..layer(&shape, weights, at, self_attn)? })
    })?;
    let [whole, sliding] = &ropes;
    Ok(Decoder {
        embed_scale: Some((shape.hidden_size as f64).sqrt()),
        final_softcap: keys.final_logit_softcapping,
        positions: Positions::rotary_of(&[whole, sliding], Pairing::Halves, &to)?,
        ..decoder
    })
}

/// Loads the text half of `Gemma3ForConditionalGeneration` from `weights`.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_text(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    // The published files leave out what has the default value.
    let defaults = json!({
        "vocab_size": 262_208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
        "num_key_value_heads": 4, "max_position_embeddings": 131_072
    });
    let text = config.inner("text_config", defaults)?;
    // As it was published, and as newer versions of transformers save it.
    for (stored, name) in [
        ("language_model.model.", "model."),
        ("model.language_model.", "model."),
        ("language_model.lm_head.", "lm_head."),
    ] {
        weights.rename_prefix(stored, name);
    }
    for prefix in ["vision_tower.", "multi_modal_projector.", "model.vision_tower.", "model.multi_modal_projector."] {
        weights.skip_prefix(prefix);
    }
    weights.notes.push("the vision half of the model is not loaded: prompts have no images".to_owned());
    load(&text, weights, to)
}
