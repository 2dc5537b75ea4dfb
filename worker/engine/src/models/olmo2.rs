//! OLMo 2 (Walsh et al. 2024): norms of the output of both halves of a layer and of none of their inputs, and queries and keys
//! normalised over whole rows.

use super::decoder::{Decoder, Placement, Positions};
use super::pre_norm;
use super::sandwich::SandwichLayer;
use crate::blocks::{Attention, QkNorm, RmsNorm};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::{RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use tch::Kind;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults { rms_norm_eps: 1e-5, norm: RmsForm::BeforeCast, ..LlamaDefaults::default() };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    let biases = [keys.attention_bias.unwrap_or(false); 2].into();
    let decoder = pre_norm::load(&shape, weights, to, |_, at, weights| {
        let attention = pre_norm::attention(&shape, weights, at, biases, ScoreRule::default())?;
        let self_attn = Attention { qk_norm: Some(qk_norm(&shape, weights, at)?), ..attention };
        let mlp = pre_norm::gated_mlp(&shape, weights, &format!("{at}.mlp"), shape.intermediate_size, false)?;
        let mut norm = |name: &str| pre_norm::norm(&shape, weights, &format!("{at}.{name}"));
        Ok(SandwichLayer {
            before_attention: None,
            self_attn,
            after_attention: norm("post_attention_layernorm")?,
            before_mlp: None,
            mlp,
            after_mlp: norm("post_feedforward_layernorm")?,
            rotation: 0,
        })
    })?;
    // transformers turns heads in f32 whatever the kind of the model.
    let positions = Positions::rotary(&shape.rope, &Placement { kind: Kind::Float, ..to })?;
    Ok(Decoder { positions, ..decoder })
}

fn qk_norm(shape: &LlamaShape, weights: &mut Weights, at: &str) -> Result<QkNorm, EngineFault> {
    let form = (shape.rms_norm_eps, shape.norm);
    let mut norm = |name: &str, width| RmsNorm::load_as(weights, &format!("{at}.self_attn.{name}"), width, form);
    Ok(QkNorm::Rows(norm("q_norm", shape.attention.q_width())?, norm("k_norm", shape.attention.kv_width())?))
}
