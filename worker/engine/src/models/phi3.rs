//! Phi-3 (Abdin et al. 2024): Llama with fused projections, and with `longrope` in its long versions.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use crate::blocks::{Attention, GateUp, GatedMlp, Linear, Projections};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    sliding_window: Option<i64>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults { rms_norm_eps: 1e-5, ..LlamaDefaults::default() })?;
    let keys: Keys = config.keys()?;
    let (hidden, inner, heads) = (shape.hidden_size, shape.intermediate_size, shape.attention);
    pre_norm::load(&shape, weights, to, |_, at, weights| {
        let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.{name}"), size, false);
        let qkv_proj = linear("self_attn.qkv_proj", (heads.q_width() + 2 * heads.kv_width(), hidden))?;
        let self_attn = Attention {
            shape: heads,
            projections: Projections::Fused(qkv_proj),
            qk_norm: None,
            query_scale: None,
            rule: ScoreRule { window: keys.sliding_window, ..ScoreRule::default() },
            o_proj: linear("self_attn.o_proj", (hidden, heads.q_width()))?,
        };
        let mlp = GatedMlp {
            gate_up: GateUp::Fused(linear("mlp.gate_up_proj", (2 * inner, hidden))?),
            down_proj: linear("mlp.down_proj", (hidden, inner))?,
            activation: shape.activation,
        };
        pre_norm::layer(&shape, weights, at, self_attn, Mlp::Dense(mlp))
    })
}
