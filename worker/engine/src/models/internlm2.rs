//! InternLM2 (Cai et al. 2024): Llama with other names, and queries, keys and values in one matrix, head by head.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp, PreNormLayer, TensorNames};
use crate::blocks::{Attention, GatedMlp, Linear, Projections, RmsNorm};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::ScoreRule;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    /// Bias of attention.
    bias: Option<bool>,
}

const NAMES: TensorNames = TensorNames {
    prefix: "model.",
    embeddings: "model.tok_embeddings",
    layers: "model.layers",
    norm: "model.norm",
    lm_head: "output",
};

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let biased = keys.bias.unwrap_or(false);
    pre_norm::load_named(&shape, weights, to, &NAMES, |_, at, weights| {
        let (hidden, heads) = (shape.hidden_size, shape.attention);
        let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.{name}"), size, biased);
        let wqkv = linear("attention.wqkv", (heads.q_width() + 2 * heads.kv_width(), hidden))?;
        let self_attn = Attention {
            shape: heads,
            projections: Projections::FusedByHead(wqkv),
            qk_norm: None,
            query_scale: None,
            rule: ScoreRule::default(),
            o_proj: linear("attention.wo", (hidden, heads.q_width()))?,
        };
        layer(&shape, weights, at, self_attn)
    })
}

/// Creates a layer around an attention, with the names of Meta's Llama, which InternLM2 kept.
pub(super) fn layer(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    self_attn: Attention,
) -> Result<PreNormLayer, EngineFault> {
    let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
    let mut norm = |name: &str| RmsNorm::load(weights, &format!("{at}.{name}"), hidden, shape.rms_norm_eps);
    let (input_layernorm, post_attention_layernorm) = (norm("attention_norm")?, norm("ffn_norm")?);
    let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.feed_forward.{name}"), size, false);
    let (gate, up) = (linear("w1", (inner, hidden))?, linear("w3", (inner, hidden))?);
    let mlp = Mlp::Dense(GatedMlp::new(gate, up, linear("w2", (hidden, inner))?, shape.activation));
    Ok(PreNormLayer { input_layernorm, self_attn, post_attention_layernorm, mlp })
}
