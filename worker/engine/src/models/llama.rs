//! Llama (Touvron et al. 2023) and its later versions, in the layout of transformers' `LlamaForCausalLM`.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let (attention_bias, mlp_bias) = (keys.attention_bias.unwrap_or(false), keys.mlp_bias.unwrap_or(false));
    pre_norm::load(&shape, weights, to, |_, at, weights| {
        let biases = (attention_bias, attention_bias);
        let self_attn = pre_norm::attention(&shape, weights, at, biases, ScoreRule::default())?;
        let mlp = pre_norm::gated_mlp(&shape, weights, &format!("{at}.mlp"), shape.intermediate_size, mlp_bias)?;
        pre_norm::layer(&shape, weights, at, self_attn, Mlp::Dense(mlp))
    })
}
