//! InternLM3 (InternLM team 2025): Llama whose biases are chosen in two groups, queries, keys and values, and all others. Its class
//! is code of its repository, which is never run.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    qkv_bias: Option<bool>,
    bias: Option<bool>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let (qkv_bias, bias) = (keys.qkv_bias.unwrap_or(false), keys.bias.unwrap_or(false));
    pre_norm::load(&shape, weights, to, |_, at, weights| {
        let self_attn = pre_norm::attention(&shape, weights, at, (qkv_bias, bias), ScoreRule::default())?;
        let mlp = pre_norm::gated_mlp(&shape, weights, &format!("{at}.mlp"), shape.intermediate_size, bias)?;
        pre_norm::layer(&shape, weights, at, self_attn, Mlp::Dense(mlp))
    })
}
