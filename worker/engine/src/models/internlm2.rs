//! InternLM2 (Cai et al. 2024): Llama under other names, with queries, keys and values in one matrix, head by head.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions, lm_head};
use super::pre_norm::{Mlp, PreNormLayer};
use crate::blocks::{Attention, GatedMlp, Linear, Norm, Projections, RmsNorm, ScoreRule};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::weights::Weights;
use compass_common::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    /// Of attention.
    bias: Option<bool>,
}

/// Takes every tensor from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] when weights and configuration do not belong together.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    weights.allow_without("model.");
    let embed_tokens = weights.take("model.tok_embeddings.weight", &[shape.vocab_size, shape.hidden_size])?;
    let layers = (0..shape.layers).map(|number| {
        let layer = layer(&shape, weights, &format!("model.layers.{number}"), keys.bias.unwrap_or(false))?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let norm = RmsNorm::load(weights, "model.norm", shape.hidden_size, shape.rms_norm_eps)?;
    let lm_head = lm_head(weights, "output", &embed_tokens, shape.tie_word_embeddings)?;
    Ok(Decoder {
        embed_tokens,
        embed_scale: None,
        project_in: None,
        project_out: None,
        positions: Positions::rotary(&shape.rope, &to)?,
        layers,
        norm: Some(Norm::Rms(norm)),
        lm_head,
        final_softcap: None,
        kv_heads: shape.attention.kv_heads,
        head_dim: shape.attention.head_dim,
        placement: to,
        _files: Vec::new(),
    })
}

fn layer(shape: &LlamaShape, weights: &mut Weights, at: &str, biased: bool) -> Result<PreNormLayer, EngineFault> {
    let (hidden, inner, heads) = (shape.hidden_size, shape.intermediate_size, shape.attention);
    let input_layernorm = RmsNorm::load(weights, &format!("{at}.attention_norm"), hidden, shape.rms_norm_eps)?;
    let post_attention_layernorm = RmsNorm::load(weights, &format!("{at}.ffn_norm"), hidden, shape.rms_norm_eps)?;
    let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.{name}"), size, biased);
    let wqkv = linear("attention.wqkv", (heads.q_width() + 2 * heads.kv_width(), hidden), biased)?;
    let self_attn = Attention {
        shape: heads,
        projections: Projections::FusedByHead(wqkv),
        qk_norm: None,
        query_scale: None,
        rule: ScoreRule::default(),
        o_proj: linear("attention.wo", (hidden, heads.q_width()), biased)?,
    };
    let gate = linear("feed_forward.w1", (inner, hidden), false)?;
    let up = linear("feed_forward.w3", (inner, hidden), false)?;
    let down = linear("feed_forward.w2", (hidden, inner), false)?;
    let mlp = Mlp::Dense(GatedMlp::new(gate, up, down, shape.activation));
    Ok(PreNormLayer { input_layernorm, self_attn, post_attention_layernorm, mlp })
}
