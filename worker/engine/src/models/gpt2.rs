//! GPT-2 (Radford et al. 2019), in the layout of transformers' `GPT2LMHeadModel`: learnt positions, and weights stored
//! as
//! `[in, out]`.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions, lm_head};
use super::pipeline::Pipeline;
use crate::blocks::{Activation, Attention, AttentionShape, FeedForward, LayerNorm, Linear, Norm, Pass, Projections};
use crate::config::ModelConfig;
use crate::kernels::{Reference, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use tch::{TchError, Tensor};

#[derive(Deserialize)]
struct Keys {
    vocab_size: i64,
    n_positions: i64,
    n_embd: i64,
    n_layer: usize,
    n_head: i64,
    n_inner: Option<i64>,
    activation_function: Option<String>,
    layer_norm_epsilon: Option<f64>,
    scale_attn_weights: Option<bool>,
    scale_attn_by_inverse_layer_idx: Option<bool>,
    tie_word_embeddings: Option<bool>,
}

struct Layer {
    ln_1: LayerNorm,
    attn: Attention,
    ln_2: LayerNorm,
    mlp: FeedForward,
}

impl DecoderLayer for Layer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        let x = kernels.add(&self.attn.forward(&self.ln_1.forward(kernels, x)?, pass)?, x)?;
        kernels.add(&x, &self.mlp.forward(kernels, &self.ln_2.forward(kernels, &x)?)?)
    }
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let keys: Keys = config.keys()?;
    let (heads, width) = (keys.n_head, keys.n_embd);
    if heads < 1 || width % heads != 0 {
        return Err(config.fault(format!("n_embd {width} is not a multiple of n_head {heads}")));
    }
    let activation = Activation::named(keys.activation_function.as_deref().unwrap_or("gelu_new"))
        .map_err(|what| config.fault(what))?;
    weights.allow_without("transformer.");
    let embed_tokens = weights.take("transformer.wte.weight", &[keys.vocab_size, width])?;
    let table = weights.take("transformer.wpe.weight", &[keys.n_positions, width])?;
    let layers = (0..keys.n_layer).map(|number| {
        let layer = layer(&keys, weights, number, activation)?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let eps = keys.layer_norm_epsilon.unwrap_or(1e-5);
    let norm = LayerNorm::load(weights, "transformer.ln_f", width, eps)?;
    let lm_head =
        lm_head(weights, "lm_head", "transformer.wte", &embed_tokens, keys.tie_word_embeddings.unwrap_or(true))?;
    Ok(Decoder {
        embed_tokens,
        embed_scale: None,
        project_in: None,
        project_out: None,
        positions: Positions::Learned { table, offset: 0 },
        layers,
        norm: Some(Norm::Layer(norm)),
        lm_head,
        final_softcap: None,
        kv_heads: heads,
        head_dim: width / heads,
        placement: to,
        kernels: Box::new(Reference),
        layer_devices: Vec::new(),
        pipeline: Pipeline::default(),
        _files: Vec::new(),
    })
}

fn layer(keys: &Keys, weights: &mut Weights, number: usize, activation: Activation) -> Result<Layer, EngineFault> {
    let at = format!("transformer.h.{number}");
    let (width, inner) = (keys.n_embd, keys.n_inner.unwrap_or(4 * keys.n_embd));
    let shape = AttentionShape { heads: keys.n_head, kv_heads: keys.n_head, head_dim: width / keys.n_head };
    let plain = if keys.scale_attn_weights.unwrap_or(true) { (shape.head_dim as f64).powf(-0.5) } else { 1.0 };
    let by_layer = keys.scale_attn_by_inverse_layer_idx.unwrap_or(false);
    let scale = if by_layer { plain / (number + 1) as f64 } else { plain };
    // Causal masks in old checkpoints.
    weights.skip(&format!("{at}.attn.bias"));
    weights.skip(&format!("{at}.attn.masked_bias"));
    let eps = keys.layer_norm_epsilon.unwrap_or(1e-5);
    let ln_1 = LayerNorm::load(weights, &format!("{at}.ln_1"), width, eps)?;
    let ln_2 = LayerNorm::load(weights, &format!("{at}.ln_2"), width, eps)?;
    let mut linear = |name: &str, size| Linear::load_transposed(weights, &format!("{at}.{name}"), size);
    let attn = Attention {
        shape,
        projections: Projections::Fused(linear("attn.c_attn", (3 * width, width))?),
        qk_norm: None,
        query_scale: None,
        rule: ScoreRule { scale: Some(scale), ..ScoreRule::default() },
        o_proj: linear("attn.c_proj", (width, width))?,
    };
    let up = linear("mlp.c_fc", (inner, width))?;
    let mlp = FeedForward { up, down: linear("mlp.c_proj", (width, inner))?, activation };
    Ok(Layer { ln_1, attn, ln_2, mlp })
}
