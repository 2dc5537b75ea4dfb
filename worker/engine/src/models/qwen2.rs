//! Qwen2 and Qwen2.5 (Qwen team 2024): Llama with biases on queries, keys and values.

use super::decoder::{Decoder, Placement};
use super::pre_norm;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

/// Rule for layers with a sliding window; also Qwen3's.
#[derive(Deserialize)]
pub(super) struct Windows {
    use_sliding_window: Option<bool>,
    sliding_window: Option<i64>,
    /// The first layer with a window.
    max_window_layers: Option<usize>,
    /// One entry per layer, in newer files.
    layer_types: Option<Vec<String>>,
}

impl Windows {
    /// Returns the window of a layer.
    pub(super) fn of(&self, layer: usize) -> Option<i64> {
        let window = self.sliding_window.filter(|_| self.use_sliding_window.unwrap_or(false));
        let slides = match self.layer_types.as_ref().and_then(|types| types.get(layer)) {
            Some(kind) => kind == "sliding_attention",
            None => layer >= self.max_window_layers.unwrap_or(28),
        };
        window.filter(|_| slides)
    }
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let windows: Windows = config.keys()?;
    pre_norm::load(&shape, weights, to, |number, at, weights| {
        let rule = ScoreRule { window: windows.of(number), ..ScoreRule::default() };
        let self_attn = pre_norm::attention(&shape, weights, at, (true, false), rule)?;
        let mlp = pre_norm::dense_mlp(&shape, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })
}
