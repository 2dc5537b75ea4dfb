//! OPT (Zhang et al. 2022): learnt positions that start at the third row, queries scaled before the product, and in the
//! 350M model embeddings that are narrower than the layers, and norms after them.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions, lm_head};
use super::pipeline::Pipeline;
use crate::blocks::{Activation, Attention, AttentionShape, FeedForward, LayerNorm, Linear, Norm, Pass, Projections};
use crate::config::ModelConfig;
use crate::kernels::{Reference, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use tch::{TchError, Tensor};

/// Number of rows of the position table before position 0.
const OFFSET: i64 = 2;

/// Epsilon of every norm; OPT's configuration has no key for it.
const EPS: f64 = 1e-5;

#[derive(Deserialize)]
struct Keys {
    vocab_size: i64,
    hidden_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    ffn_dim: i64,
    max_position_embeddings: i64,
    word_embed_proj_dim: Option<i64>,
    activation_function: Option<String>,
    do_layer_norm_before: Option<bool>,
    enable_bias: Option<bool>,
    layer_norm_elementwise_affine: Option<bool>,
    #[serde(rename = "_remove_final_layer_norm")]
    remove_final_layer_norm: Option<bool>,
    tie_word_embeddings: Option<bool>,
}

struct Layer {
    self_attn_layer_norm: LayerNorm,
    self_attn: Attention,
    final_layer_norm: LayerNorm,
    mlp: FeedForward,
    norm_before: bool,
}

impl DecoderLayer for Layer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        if self.norm_before {
            let attended = self.self_attn.forward(&self.self_attn_layer_norm.forward(kernels, x)?, pass)?;
            let x = kernels.add(x, &attended)?;
            return kernels.add(&x, &self.mlp.forward(kernels, &self.final_layer_norm.forward(kernels, &x)?)?);
        }
        let attended = kernels.add(x, &self.self_attn.forward(x, pass)?)?;
        let x = self.self_attn_layer_norm.forward(kernels, &attended)?;
        self.final_layer_norm.forward(kernels, &kernels.add(&x, &self.mlp.forward(kernels, &x)?)?)
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
    if keys.layer_norm_elementwise_affine == Some(false) {
        return Err(config.fault("layer_norm_elementwise_affine = false is not supported"));
    }
    let activation =
        Activation::named(keys.activation_function.as_deref().unwrap_or("relu")).map_err(|what| config.fault(what))?;
    weights.allow_without("model.");
    let width = keys.word_embed_proj_dim.unwrap_or(hidden);
    let embed_tokens = weights.take("model.decoder.embed_tokens.weight", &[keys.vocab_size, width])?;
    let rows = keys.max_position_embeddings + OFFSET;
    let table = weights.take("model.decoder.embed_positions.weight", &[rows, hidden])?;
    let mut project = |name: &str, size| {
        let at = format!("model.decoder.{name}");
        if width == hidden { Ok(None) } else { Linear::load(weights, &at, size, false).map(Some) }
    };
    let project_in = project("project_in", (hidden, width))?;
    let project_out = project("project_out", (width, hidden))?;
    let layers = (0..keys.num_hidden_layers).map(|number| {
        let layer = layer(&keys, weights, &format!("model.decoder.layers.{number}"), activation)?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let normed = keys.do_layer_norm_before.unwrap_or(true) && !keys.remove_final_layer_norm.unwrap_or(false);
    let norm = match normed {
        true => Some(Norm::Layer(LayerNorm::load(weights, "model.decoder.final_layer_norm", hidden, EPS)?)),
        false => None,
    };
    let lm_head = lm_head(
        weights,
        "lm_head",
        "model.decoder.embed_tokens",
        &embed_tokens,
        keys.tie_word_embeddings.unwrap_or(true),
    )?;
    Ok(Decoder {
        embed_tokens,
        embed_scale: None,
        project_in,
        project_out,
        positions: Positions::Learned { table, offset: OFFSET },
        layers,
        norm,
        lm_head,
        final_softcap: None,
        kv_heads: heads,
        head_dim: hidden / heads,
        placement: to,
        kernels: Box::new(Reference),
        layer_devices: Vec::new(),
        pipeline: Pipeline::default(),
        _files: Vec::new(),
    })
}

fn layer(keys: &Keys, weights: &mut Weights, at: &str, activation: Activation) -> Result<Layer, EngineFault> {
    let (heads, hidden, inner) = (keys.num_attention_heads, keys.hidden_size, keys.ffn_dim);
    let shape = AttentionShape { heads, kv_heads: heads, head_dim: hidden / heads };
    let biased = keys.enable_bias.unwrap_or(true);
    let self_attn_layer_norm = LayerNorm::load(weights, &format!("{at}.self_attn_layer_norm"), hidden, EPS)?;
    let final_layer_norm = LayerNorm::load(weights, &format!("{at}.final_layer_norm"), hidden, EPS)?;
    let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.{name}"), size, biased);
    let self_attn = Attention {
        shape,
        projections: Projections::Separate {
            q_proj: linear("self_attn.q_proj", (hidden, hidden))?,
            k_proj: linear("self_attn.k_proj", (hidden, hidden))?,
            v_proj: linear("self_attn.v_proj", (hidden, hidden))?,
        },
        qk_norm: None,
        query_scale: Some((shape.head_dim as f64).powf(-0.5)),
        rule: ScoreRule { scale: Some(1.0), ..ScoreRule::default() },
        o_proj: linear("self_attn.out_proj", (hidden, hidden))?,
    };
    let mlp = FeedForward { up: linear("fc1", (inner, hidden))?, down: linear("fc2", (hidden, inner))?, activation };
    let norm_before = keys.do_layer_norm_before.unwrap_or(true);
    Ok(Layer { self_attn_layer_norm, self_attn, final_layer_norm, mlp, norm_before })
}
