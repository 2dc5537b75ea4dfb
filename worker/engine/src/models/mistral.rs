//! Mistral (Jiang et al. 2023): Llama with a sliding window.

use super::decoder::{Decoder, Placement};
use super::pre_norm;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    /// `null` means none; absent means that of the first Mistral.
    #[serde(default = "first_window")]
    sliding_window: Option<i64>,
}

fn first_window() -> Option<i64> {
    Some(4096)
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let rule = ScoreRule { window: keys.sliding_window, ..ScoreRule::default() };
    pre_norm::load(&shape, weights, to, |_, at, weights| {
        let self_attn = pre_norm::attention(&shape, weights, at, (false, false), rule)?;
        let mlp = pre_norm::dense_mlp(&shape, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })
}
