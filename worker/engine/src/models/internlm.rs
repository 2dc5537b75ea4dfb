//! InternLM (InternLM team 2023) as its training code writes it: `model_config.pt`, and weights under that code's
//! names, with queries, keys and values in one matrix, one after the other (`convert2hf.py` of the InternLM
//! repository).

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp, PreNormLayer, TensorNames};
use crate::blocks::{Activation, Attention, AttentionShape, GatedMlp, Linear, Projections, RmsNorm};
use crate::config::{LlamaShape, ModelConfig, RopeConfig, RopeScaling};
use crate::kernels::{RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    num_layers: usize,
    hidden_size: i64,
    num_attention_heads: i64,
    vocab_size: i64,
    layer_norm_epsilon: Option<f64>,
    norm_type: Option<String>,
    use_swiglu: Option<bool>,
    use_dynamic_ntk_rope: Option<bool>,
}

/// The two names of the embeddings; the second is that of models with `embed_split_hidden = false`.
const EMBEDDINGS: [&str; 2] = ["embedding", "embedding.word_embeddings"];

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let keys: Keys = config.keys()?;
    let shape = shape(&keys, weights).map_err(|what| config.fault(what))?;
    if keys.use_dynamic_ntk_rope.unwrap_or(false) {
        let note = "use_dynamic_ntk_rope is not obeyed: texts longer than those trained on are rotated as they stand";
        weights.notes.push(note.to_owned());
    }
    let [usual, other] = EMBEDDINGS;
    let embeddings = if weights.has(&format!("{other}.weight")) { other } else { usual };
    let names = TensorNames { prefix: "", embeddings, layers: "blocks", norm: "norm", lm_head: "head" };
    pre_norm::load_named(&shape, weights, to, &names, |_, at, weights| layer(&shape, weights, at))
}

fn shape(keys: &Keys, weights: &Weights) -> Result<LlamaShape, String> {
    let (hidden, heads) = (keys.hidden_size, keys.num_attention_heads);
    if heads < 1 || hidden % heads != 0 || (hidden / heads) % 2 != 0 {
        return Err(format!("hidden_size {hidden} and num_attention_heads {heads} do not fit together"));
    }
    if keys.norm_type.as_deref().is_some_and(|kind| kind != "rmsnorm") || keys.use_swiglu == Some(false) {
        return Err("only `norm_type` \"rmsnorm\" with `use_swiglu` is supported".into());
    }
    // `mlp_ratio` is rounded up to a multiple of 256, but the versions of that code differ.
    let inner = weights.rows("blocks.0.mlp.w1.weight").ok_or("the weights have no tensor `blocks.0.mlp.w1.weight`")?;
    let head_dim = hidden / heads;
    Ok(LlamaShape {
        hidden_size: hidden,
        intermediate_size: inner,
        layers: keys.num_layers,
        attention: AttentionShape { heads, kv_heads: heads, head_dim },
        vocab_size: keys.vocab_size,
        rms_norm_eps: keys.layer_norm_epsilon.unwrap_or(1e-5),
        norm: RmsForm::AfterCast,
        rope: RopeConfig { theta: 10_000.0, dim: head_dim, scaling: RopeScaling::Default },
        tie_word_embeddings: false,
        activation: Activation::Silu,
    })
}

fn layer(shape: &LlamaShape, weights: &mut Weights, at: &str) -> Result<PreNormLayer, EngineFault> {
    let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
    weights.skip(&format!("{at}.mixer.rotary_emb.inv_freq"));
    // Each rank has a third of queries, of keys and of values.
    let wqkv = weights.take_blocks(&format!("{at}.mixer.Wqkv.weight"), &[3 * hidden, hidden], 3)?;
    let wqkv = Linear::new(wqkv, Some(weights.take_blocks(&format!("{at}.mixer.Wqkv.bias"), &[3 * hidden], 3)?));
    let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.{name}"), size, biased);
    let self_attn = Attention {
        shape: shape.attention,
        projections: Projections::Fused(wqkv),
        qk_norm: None,
        query_scale: None,
        rule: ScoreRule::default(),
        o_proj: linear("mixer.out_proj", (hidden, hidden), true)?,
    };
    let gate = linear("mlp.w1", (inner, hidden), false)?;
    let up = linear("mlp.w2", (inner, hidden), false)?;
    let mlp = Mlp::Dense(GatedMlp::new(gate, up, linear("mlp.w3", (hidden, inner), false)?, shape.activation));
    let mut norm = |name: &str| RmsNorm::load(weights, &format!("{at}.{name}"), hidden, shape.rms_norm_eps);
    Ok(PreNormLayer { input_layernorm: norm("norm1")?, self_attn, post_attention_layernorm: norm("norm2")?, mlp })
}
