//! Gemma 2 (Gemma team 2024): norms around both halves of a layer, every other layer with a sliding window, and soft
//! caps on scores and logits.
//!
//! The soft cap on scores is always computed, as in training. transformers omits it on its sdpa path; the numbers to
//! compare with come from `attn_implementation="eager"`.

use super::decoder::{Decoder, Placement};
use super::pre_norm;
use super::sandwich::SandwichLayer;
use crate::blocks::Attention;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::{RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    #[serde(default = "defaults::scalar")]
    query_pre_attn_scalar: f64,
    #[serde(default = "defaults::window")]
    sliding_window: Option<i64>,
    #[serde(default = "defaults::score_cap")]
    attn_logit_softcapping: Option<f64>,
    #[serde(default = "defaults::logit_cap")]
    final_logit_softcapping: Option<f64>,
    layer_types: Option<Vec<String>>,
}

/// Defaults of transformers' `Gemma2Config` for absent keys; `null` means none.
mod defaults {
    pub(super) fn scalar() -> f64 {
        256.0
    }
    pub(super) fn window() -> Option<i64> {
        Some(4096)
    }
    pub(super) fn score_cap() -> Option<f64> {
        Some(50.0)
    }
    pub(super) fn logit_cap() -> Option<f64> {
        Some(30.0)
    }
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
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
    let biased = keys.attention_bias.unwrap_or(false);
    let decoder = pre_norm::load(&shape, weights, to, |number, at, weights| {
        let slides = match keys.layer_types.as_ref().and_then(|types| types.get(number)) {
            Some(kind) => kind == "sliding_attention",
            None => number % 2 == 0,
        };
        let rule = ScoreRule {
            scale: Some(keys.query_pre_attn_scalar.powf(-0.5)),
            window: keys.sliding_window.filter(|_| slides),
            softcap: keys.attn_logit_softcapping,
        };
        let self_attn = pre_norm::attention(&shape, weights, at, (biased, biased), rule)?;
        layer(&shape, weights, at, self_attn)
    })?;
    let embed_scale = Some((shape.hidden_size as f64).sqrt());
    Ok(Decoder { embed_scale, final_softcap: keys.final_logit_softcapping, ..decoder })
}

/// Creates a layer around an attention, with the names of Gemma's norms; also Gemma 3's.
pub(super) fn layer(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    self_attn: Attention,
) -> Result<SandwichLayer, EngineFault> {
    let mlp = pre_norm::gated_mlp(shape, weights, &format!("{at}.mlp"), shape.intermediate_size, false)?;
    let mut norm = |name: &str| pre_norm::norm(shape, weights, &format!("{at}.{name}"));
    Ok(SandwichLayer {
        before_attention: Some(norm("input_layernorm")?),
        self_attn,
        after_attention: norm("post_attention_layernorm")?,
        before_mlp: Some(norm("pre_feedforward_layernorm")?),
        mlp,
        after_mlp: norm("post_feedforward_layernorm")?,
        rotation: 0,
    })
}
