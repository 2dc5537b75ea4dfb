//! Llama's structure of layers and models, which most families share: a norm before each half of a layer, whose output
//! is added, and the tensor names of transformers' `LlamaForCausalLM`.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions, lm_head};
use super::pipeline::Pipeline;
use crate::blocks::{Attention, GatedMlp, Linear, Norm, Pass, Projections, QkNorm, RmsNorm, SparseMoe};
use crate::config::LlamaShape;
use crate::kernels::{Kernels, Reference, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use tch::{TchError, Tensor};

/// `x + attention(norm(x))`, then `x + feed_forward(norm(x))`.
pub(crate) struct PreNormLayer {
    pub(crate) input_layernorm: RmsNorm,
    pub(crate) self_attn: Attention,
    pub(crate) post_attention_layernorm: RmsNorm,
    pub(crate) mlp: Mlp,
}

/// The second half of a layer.
pub(crate) enum Mlp {
    Dense(GatedMlp),
    Sparse(SparseMoe),
}

impl Mlp {
    /// Maps `[rows, hidden]` to the same shape.
    pub(super) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Dense(mlp) => mlp.forward(kernels, x),
            Self::Sparse(moe) => moe.forward(kernels, x),
        }
    }

    /// Joins products of the same rows.
    pub(super) fn join(&mut self) -> Result<(), TchError> {
        match self {
            Self::Dense(mlp) => mlp.join(),
            Self::Sparse(moe) => moe.join(),
        }
    }

    /// Stacks the experts, if there are any.
    pub(super) fn stack_experts(&mut self) -> Result<(), TchError> {
        match self {
            Self::Dense(_) => Ok(()),
            Self::Sparse(moe) => moe.experts.stack(),
        }
    }
}

impl DecoderLayer for PreNormLayer {
    fn join(&mut self) -> Result<(), TchError> {
        self.self_attn.join()?;
        self.mlp.join()
    }

    fn stack_experts(&mut self) -> Result<(), TchError> {
        self.mlp.stack_experts()
    }

    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        let attended = self.self_attn.forward(&self.input_layernorm.forward(kernels, x)?, pass)?;
        let (x, normed) = self.post_attention_layernorm.of_sum(kernels, x, &attended)?;
        kernels.add(&x, &self.mlp.forward(kernels, &normed)?)
    }
}

/// Names of the tensors around the layers, without `.weight`.
pub(crate) struct TensorNames {
    /// Prefix of all names; absent in a checkpoint saved without its head.
    pub(crate) prefix: &'static str,
    pub(crate) embeddings: &'static str,
    /// Prefix of the layers' names, before their number.
    pub(crate) layers: &'static str,
    pub(crate) norm: &'static str,
    pub(crate) lm_head: &'static str,
}

/// Names of Llama and most families.
const LLAMA: TensorNames = TensorNames {
    prefix: "model.",
    embeddings: "model.embed_tokens",
    layers: "model.layers",
    norm: "model.norm",
    lm_head: "lm_head",
};

/// Loads a model with Llama's names; `layer` loads one layer, whose names start with its second argument.
pub(crate) fn load<L: DecoderLayer + 'static>(
    shape: &LlamaShape,
    weights: &mut Weights,
    to: Placement,
    layer: impl FnMut(usize, &str, &mut Weights) -> Result<L, EngineFault>,
) -> Result<Decoder, EngineFault> {
    load_named(shape, weights, to, &LLAMA, layer)
}

/// Loads a model with other names.
pub(crate) fn load_named<L: DecoderLayer + 'static>(
    shape: &LlamaShape,
    weights: &mut Weights,
    to: Placement,
    names: &TensorNames,
    mut layer: impl FnMut(usize, &str, &mut Weights) -> Result<L, EngineFault>,
) -> Result<Decoder, EngineFault> {
    weights.allow_without(names.prefix);
    let embed_tokens = weights.take(&format!("{}.weight", names.embeddings), &[shape.vocab_size, shape.hidden_size])?;
    let layers = (0..shape.layers).map(|number| {
        let layer = layer(number, &format!("{}.{number}", names.layers), weights)?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let norm = norm(shape, weights, names.norm)?;
    let lm_head = lm_head(weights, names.lm_head, names.embeddings, &embed_tokens, shape.tie_word_embeddings)?;
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
        kernels: Box::new(Reference),
        layer_devices: Vec::new(),
        pipeline: Pipeline::default(),
        _files: Vec::new(),
    })
}

/// Creates a layer of Llama's two norms around the given halves.
pub(crate) fn layer(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    self_attn: Attention,
    mlp: Mlp,
) -> Result<PreNormLayer, EngineFault> {
    Ok(PreNormLayer {
        input_layernorm: norm(shape, weights, &format!("{at}.input_layernorm"))?,
        self_attn,
        post_attention_layernorm: norm(shape, weights, &format!("{at}.post_attention_layernorm"))?,
        mlp,
    })
}

/// Loads a norm of hidden states.
pub(crate) fn norm(shape: &LlamaShape, weights: &mut Weights, name: &str) -> Result<RmsNorm, EngineFault> {
    RmsNorm::load_as(weights, name, shape.hidden_size, (shape.rms_norm_eps, shape.norm))
}

/// Loads attention of four matrices; the flags say whether the first three and the last have biases.
pub(crate) fn attention(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    (qkv_bias, o_bias): (bool, bool),
    rule: ScoreRule,
) -> Result<Attention, EngineFault> {
    let (hidden, heads) = (shape.hidden_size, shape.attention);
    let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.self_attn.{name}"), size, biased);
    Ok(Attention {
        shape: heads,
        projections: Projections::Separate {
            q_proj: linear("q_proj", (heads.q_width(), hidden), qkv_bias)?,
            k_proj: linear("k_proj", (heads.kv_width(), hidden), qkv_bias)?,
            v_proj: linear("v_proj", (heads.kv_width(), hidden), qkv_bias)?,
        },
        qk_norm: None,
        query_scale: None,
        rule,
        o_proj: linear("o_proj", (hidden, heads.q_width()), o_bias)?,
    })
}

/// Loads norms of queries and keys over their heads.
pub(crate) fn qk_norm(shape: &LlamaShape, weights: &mut Weights, at: &str) -> Result<QkNorm, EngineFault> {
    let (width, form) = (shape.attention.head_dim, (shape.rms_norm_eps, shape.norm));
    let mut norm = |name: &str| RmsNorm::load_as(weights, &format!("{at}.self_attn.{name}"), width, form);
    Ok(QkNorm::Heads(norm("q_norm")?, norm("k_norm")?))
}

/// Loads a gated feed-forward layer of three matrices under `at`, `width` wide inside.
pub(crate) fn gated_mlp(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    width: i64,
    biased: bool,
) -> Result<GatedMlp, EngineFault> {
    let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.{name}"), size, biased);
    let gate_proj = linear("gate_proj", (width, shape.hidden_size))?;
    let up_proj = linear("up_proj", (width, shape.hidden_size))?;
    Ok(GatedMlp::new(gate_proj, up_proj, linear("down_proj", (shape.hidden_size, width))?, shape.activation))
}

/// Loads the usual feed-forward layer: `<at>.mlp`, dense, without biases.
pub(crate) fn dense_mlp(shape: &LlamaShape, weights: &mut Weights, at: &str) -> Result<Mlp, EngineFault> {
    gated_mlp(shape, weights, &format!("{at}.mlp"), shape.intermediate_size, false).map(Mlp::Dense)
}
