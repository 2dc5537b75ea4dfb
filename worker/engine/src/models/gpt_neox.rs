//! GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023): both halves of a layer in parallel, and only a part
//! of each head rotated.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions, lm_head};
use super::pipeline::Pipeline;
use crate::blocks::{Activation, Attention, AttentionShape, FeedForward, LayerNorm, Linear, Norm, Pass, Projections};
use crate::config::{ModelConfig, RopeConfig};
use crate::kernels::{Reference, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use serde_json::Value;
use tch::{TchError, Tensor};

#[derive(Deserialize)]
struct Keys {
    vocab_size: i64,
    hidden_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    intermediate_size: i64,
    hidden_act: Option<String>,
    layer_norm_eps: Option<f64>,
    partial_rotary_factor: Option<f64>,
    rope_theta: Option<f64>,
    rope_parameters: Option<Value>,
    max_position_embeddings: Option<f64>,
    use_parallel_residual: Option<bool>,
    attention_bias: Option<bool>,
    tie_word_embeddings: Option<bool>,
}

struct Layer {
    input_layernorm: LayerNorm,
    attention: Attention,
    post_attention_layernorm: LayerNorm,
    mlp: FeedForward,
    parallel: bool,
}

impl DecoderLayer for Layer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        let attended = self.attention.forward(&self.input_layernorm.forward(kernels, x)?, pass)?;
        let fed = |x: &Tensor| self.mlp.forward(kernels, &self.post_attention_layernorm.forward(kernels, x)?);
        if self.parallel {
            return kernels.add(&kernels.add(&fed(x)?, &attended)?, x);
        }
        let x = kernels.add(&attended, x)?;
        kernels.add(&fed(&x)?, &x)
    }
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let keys: Keys = config.keys()?;
    let (heads, hidden) = (keys.num_attention_heads, keys.hidden_size);
    if heads < 1 || hidden % heads != 0 {
        return Err(config.fault(format!("hidden_size {hidden} is not a multiple of num_attention_heads {heads}")));
    }
    let shape = AttentionShape { heads, kv_heads: heads, head_dim: hidden / heads };
    let rope = RopeConfig::read(
        keys.rope_parameters.clone(),
        keys.rope_theta.unwrap_or(10_000.0),
        shape.head_dim,
        keys.partial_rotary_factor.or(Some(0.25)),
        (keys.max_position_embeddings, None),
    );
    let rope = rope.map_err(|what| config.fault(what))?;
    let activation =
        Activation::named(keys.hidden_act.as_deref().unwrap_or("gelu")).map_err(|what| config.fault(what))?;
    weights.allow_without("gpt_neox.");
    // transformers 5's own name of the head.
    weights.rename_prefix("lm_head.", "embed_out.");
    let embed_tokens = weights.take("gpt_neox.embed_in.weight", &[keys.vocab_size, hidden])?;
    let layers = (0..keys.num_hidden_layers).map(|number| {
        let layer = layer(&keys, weights, &format!("gpt_neox.layers.{number}"), shape, activation)?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let norm = LayerNorm::load(weights, "gpt_neox.final_layer_norm", hidden, keys.layer_norm_eps.unwrap_or(1e-5))?;
    let lm_head =
        lm_head(weights, "embed_out", "gpt_neox.embed_in", &embed_tokens, keys.tie_word_embeddings.unwrap_or(false))?;
    Ok(Decoder {
        embed_tokens,
        embed_scale: None,
        project_in: None,
        project_out: None,
        positions: Positions::rotary(&rope, &to)?,
        layers,
        norm: Some(Norm::Layer(norm)),
        lm_head,
        final_softcap: None,
        kv_heads: heads,
        head_dim: shape.head_dim,
        placement: to,
        kernels: Box::new(Reference),
        layer_devices: Vec::new(),
        pipeline: Pipeline::default(),
        _files: Vec::new(),
    })
}

fn layer(
    keys: &Keys,
    weights: &mut Weights,
    at: &str,
    shape: AttentionShape,
    activation: Activation,
) -> Result<Layer, EngineFault> {
    let (hidden, inner) = (keys.hidden_size, keys.intermediate_size);
    let (biased, eps) = (keys.attention_bias.unwrap_or(true), keys.layer_norm_eps.unwrap_or(1e-5));
    // Causal masks in old checkpoints.
    weights.skip(&format!("{at}.attention.bias"));
    weights.skip(&format!("{at}.attention.masked_bias"));
    let input_layernorm = LayerNorm::load(weights, &format!("{at}.input_layernorm"), hidden, eps)?;
    let post_attention_layernorm = LayerNorm::load(weights, &format!("{at}.post_attention_layernorm"), hidden, eps)?;
    let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.{name}"), size, biased);
    let attention = Attention {
        shape,
        projections: Projections::FusedByHead(linear("attention.query_key_value", (3 * hidden, hidden), biased)?),
        qk_norm: None,
        query_scale: None,
        rule: ScoreRule::default(),
        o_proj: linear("attention.dense", (hidden, hidden), biased)?,
    };
    let up = linear("mlp.dense_h_to_4h", (inner, hidden), true)?;
    let mlp = FeedForward { up, down: linear("mlp.dense_4h_to_h", (hidden, inner), true)?, activation };
    let parallel = keys.use_parallel_residual.unwrap_or(true);
    Ok(Layer { input_layernorm, attention, post_attention_layernorm, mlp, parallel })
}
