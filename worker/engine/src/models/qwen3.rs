//! Qwen3 (Qwen team 2025): Llama with queries and keys normalised over their heads.

use super::decoder::{Decoder, Placement};
use super::pre_norm;
use super::qwen2::Windows;
use crate::blocks::Attention;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults { head_dim: Some(128), ..LlamaDefaults::default() };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    let windows: Windows = config.keys()?;
    let biases = [keys.attention_bias.unwrap_or(false); 2].into();
    pre_norm::load(&shape, weights, to, |number, at, weights| {
        let rule = ScoreRule { window: windows.of(number), ..ScoreRule::default() };
        let attention = pre_norm::attention(&shape, weights, at, biases, rule)?;
        let self_attn = Attention { qk_norm: Some(pre_norm::qk_norm(&shape, weights, at)?), ..attention };
        let mlp = pre_norm::dense_mlp(&shape, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })
}
