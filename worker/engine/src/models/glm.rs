//! GLM-4 (GLM team 2024) in transformers' layout: Llama with half of each head turned in neighbouring pairs, and a fused gated
//! layer. `GlmForCausalLM` has Llama's two norms in a layer, `Glm4ForCausalLM` also norms the output of both halves.

use super::decoder::{Decoder, Placement, Positions};
use super::pre_norm::{self, Mlp};
use super::sandwich::SandwichLayer;
use crate::blocks::{Attention, GateUp, GatedMlp, Linear};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::kernels::{Pairing, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    attention_bias: Option<bool>,
}

/// Loads `GlmForCausalLM` from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = shape(config)?;
    let keys: Keys = config.keys()?;
    let decoder = pre_norm::load(&shape, weights, to, |_, at, weights| {
        let (self_attn, mlp) = halves(&shape, &keys, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, Mlp::Dense(mlp))
    })?;
    Ok(Decoder { positions: positions(&shape, to)?, ..decoder })
}

/// Loads `Glm4ForCausalLM` from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load_4(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = shape(config)?;
    let keys: Keys = config.keys()?;
    let decoder = pre_norm::load(&shape, weights, to, |_, at, weights| {
        let (self_attn, mlp) = halves(&shape, &keys, weights, at)?;
        let mut norm = |name: &str| pre_norm::norm(&shape, weights, &format!("{at}.{name}"));
        Ok(SandwichLayer {
            before_attention: Some(norm("input_layernorm")?),
            self_attn,
            after_attention: norm("post_self_attn_layernorm")?,
            before_mlp: Some(norm("post_attention_layernorm")?),
            mlp,
            after_mlp: norm("post_mlp_layernorm")?,
            rotation: 0,
        })
    })?;
    Ok(Decoder { positions: positions(&shape, to)?, ..decoder })
}

fn shape(config: &ModelConfig) -> Result<LlamaShape, EngineFault> {
    let defaults = LlamaDefaults {
        rms_norm_eps: 1.5625e-7,
        head_dim: Some(128),
        partial_rotary_factor: Some(0.5),
        ..LlamaDefaults::default()
    };
    LlamaShape::read(config, &defaults)
}

fn positions(shape: &LlamaShape, to: Placement) -> Result<Positions, EngineFault> {
    Positions::rotary_of(&[&shape.rope], Pairing::Neighbours, &to)
}

fn halves(
    shape: &LlamaShape,
    keys: &Keys,
    weights: &mut Weights,
    at: &str,
) -> Result<(Attention, GatedMlp), EngineFault> {
    let biases = (keys.attention_bias.unwrap_or(true), false);
    let self_attn = pre_norm::attention(shape, weights, at, biases, ScoreRule::default())?;
    let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
    let mut linear = |name: &str, size| Linear::load(weights, &format!("{at}.mlp.{name}"), size, false);
    let mlp = GatedMlp {
        gate_up: GateUp::Fused(linear("gate_up_proj", (2 * inner, hidden))?),
        down_proj: linear("down_proj", (hidden, inner))?,
        activation: shape.activation,
    };
    Ok((self_attn, mlp))
}
