//! Gemma 2 (Gemma team 2024): norms around both halves of a layer, every other layer with a sliding window, and soft
//! caps on scores and logits.
//!
//! The soft cap on scores is always computed, as in training. transformers omits it on its sdpa path; the numbers to
//! compare with are those of `attn_implementation="eager"`.

use super::decoder::{Decoder, DecoderLayer, Placement};
use super::pre_norm;
use crate::blocks::{Attention, GatedMlp, Norm, Pass, RmsNorm, ScoreRule};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::Reference;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use tch::{TchError, Tensor};

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
    #[serde(default = "defaults::scalar")]
    query_pre_attn_scalar: f64,
    #[serde(default = "defaults::window")]
    sliding_window: Option<i64>,
    #[serde(default = "defaults::score_cap")]
    attn_logit_softcapping: Option<f64>,
    #[serde(default = "defaults::logit_cap")]
    final_logit_softcapping: Option<f64>,
    layer_types: Option<Vec<String>>,
}

/// Defaults of transformers' `Gemma2Config` for absent keys; `null` means none.
mod defaults {
    pub(super) fn scalar() -> f64 {
        256.0
    }
    pub(super) fn window() -> Option<i64> {
        Some(4096)
    }
    pub(super) fn score_cap() -> Option<f64> {
        Some(50.0)
    }
    pub(super) fn logit_cap() -> Option<f64> {
        Some(30.0)
    }
}

struct Layer {
    input_layernorm: RmsNorm,
    self_attn: Attention,
    post_attention_layernorm: RmsNorm,
    pre_feedforward_layernorm: RmsNorm,
    mlp: GatedMlp,
    post_feedforward_layernorm: RmsNorm,
}

impl DecoderLayer for Layer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        let attended = self.self_attn.forward(&self.input_layernorm.forward(kernels, x)?, pass)?;
        let x = kernels.add(x, &self.post_attention_layernorm.forward(kernels, &attended)?)?;
        let fed = self.mlp.forward(kernels, &self.pre_feedforward_layernorm.forward(kernels, &x)?)?;
        kernels.add(&x, &self.post_feedforward_layernorm.forward(kernels, &fed)?)
    }
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults {
        head_dim: Some(256),
        tie_word_embeddings: true,
        activation: "gelu_pytorch_tanh",
        ..LlamaDefaults::default()
    };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    weights.allow_without("model.");
    let embed_tokens = weights.take("model.embed_tokens.weight", &[shape.vocab_size, shape.hidden_size])?;
    let layers = (0..shape.layers).map(|number| {
        let slides = match keys.layer_types.as_ref().and_then(|types| types.get(number)) {
            Some(kind) => kind == "sliding_attention",
            None => number % 2 == 0,
        };
        let rule = ScoreRule {
            scale: Some(keys.query_pre_attn_scalar.powf(-0.5)),
            window: keys.sliding_window.filter(|_| slides),
            softcap: keys.attn_logit_softcapping,
        };
        let biased = keys.attention_bias.unwrap_or(false);
        let layer = layer(&shape, weights, &format!("model.layers.{number}"), rule, biased)?;
        Ok::<Box<dyn DecoderLayer>, EngineFault>(Box::new(layer))
    });
    let layers = layers.collect::<Result<_, _>>()?;
    let norm = RmsNorm::load_from_one(weights, "model.norm", shape.hidden_size, shape.rms_norm_eps)?;
    let lm_head = super::decoder::lm_head(weights, "lm_head", &embed_tokens, shape.tie_word_embeddings)?;
    Ok(Decoder {
        embed_tokens,
        embed_scale: Some((shape.hidden_size as f64).sqrt()),
        project_in: None,
        project_out: None,
        positions: super::decoder::Positions::rotary(&shape.rope, &to)?,
        layers,
        norm: Some(Norm::Rms(norm)),
        lm_head,
        final_softcap: keys.final_logit_softcapping,
        kv_heads: shape.attention.kv_heads,
        head_dim: shape.attention.head_dim,
        placement: to,
        kernels: Box::new(Reference),
        layer_devices: Vec::new(),
        _files: Vec::new(),
    })
}

fn layer(
    shape: &LlamaShape,
    weights: &mut Weights,
    at: &str,
    rule: ScoreRule,
    biased: bool,
) -> Result<Layer, EngineFault> {
    let self_attn = pre_norm::attention(shape, weights, at, (biased, biased), rule)?;
    let mlp = pre_norm::gated_mlp(shape, weights, &format!("{at}.mlp"), shape.intermediate_size, false)?;
    let mut norm =
        |name: &str| RmsNorm::load_from_one(weights, &format!("{at}.{name}"), shape.hidden_size, shape.rms_norm_eps);
    Ok(Layer {
        input_layernorm: norm("input_layernorm")?,
        self_attn,
        post_attention_layernorm: norm("post_attention_layernorm")?,
        pre_feedforward_layernorm: norm("pre_feedforward_layernorm")?,
        mlp,
        post_feedforward_layernorm: norm("post_feedforward_layernorm")?,
    })
}
