//! Qwen3-MoE (Qwen team 2025): Qwen3 with experts in most layers.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use super::qwen2_moe::ExpertKeys;
use crate::blocks::Attention;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    use_sliding_window: Option<bool>,
    sliding_window: Option<i64>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let experts: ExpertKeys = config.keys()?;
    let window = keys.sliding_window.filter(|_| keys.use_sliding_window.unwrap_or(false));
    let biases = [keys.attention_bias.unwrap_or(false); 2].into();
    pre_norm::load(&shape, weights, to, |number, at, weights| {
        let rule = ScoreRule { window, ..ScoreRule::default() };
        let attention = pre_norm::attention(&shape, weights, at, biases, rule)?;
        let self_attn = Attention { qk_norm: Some(pre_norm::qk_norm(&shape, weights, at)?), ..attention };
        let mlp = if experts.in_layer(number) {
            Mlp::Sparse(experts.load(&shape, weights, &format!("{at}.mlp"))?)
        } else {
            pre_norm::dense_mlp(&shape, weights, at)?
        };
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })
}
