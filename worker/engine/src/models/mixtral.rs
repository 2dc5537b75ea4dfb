//! Mixtral (Jiang et al. 2024): Mistral with a sparse mixture of experts in every layer.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use crate::blocks::{Experts, GatedMlp, Linear, Router, SparseMoe};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::fault::device_fault;
use crate::kernels::{RoutingRule, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    sliding_window: Option<i64>,
    num_local_experts: i64,
    num_experts_per_tok: i64,
}

/// Names of the experts' part of a layer, and of an expert's matrices.
struct ExpertNames {
    at: &'static str,
    gate: &'static str,
    up: &'static str,
    down: &'static str,
}

/// As Mixtral was published.
const PUBLISHED: ExpertNames = ExpertNames { at: "block_sparse_moe", gate: "w1", up: "w3", down: "w2" };

/// As transformers 5 has them, and saves them with `save_original_format = False`.
const RENAMED: ExpertNames = ExpertNames { at: "mlp", gate: "gate_proj", up: "up_proj", down: "down_proj" };

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let defaults = LlamaDefaults { rms_norm_eps: 1e-5, rope_theta: 1e6, ..LlamaDefaults::default() };
    let shape = LlamaShape::read(config, &defaults)?;
    let keys: Keys = config.keys()?;
    let rule = ScoreRule { window: keys.sliding_window, ..ScoreRule::default() };
    pre_norm::load(&shape, weights, to, |_, at, weights| {
        let self_attn = pre_norm::attention(&shape, weights, at, (false, false), rule)?;
        let mlp = experts(&shape, &keys, weights, at)?;
        pre_norm::layer(&shape, weights, at, self_attn, Mlp::Sparse(mlp))
    })
}

fn experts(shape: &LlamaShape, keys: &Keys, weights: &mut Weights, at: &str) -> Result<SparseMoe, EngineFault> {
    let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
    let is_renamed = weights.has(&format!("{at}.{}.gate.weight", RENAMED.at));
    let names = if is_renamed { &RENAMED } else { &PUBLISHED };
    let at = format!("{at}.{}", names.at);
    let gate = Linear::load(weights, &format!("{at}.gate"), (keys.num_local_experts, hidden), false)?;
    let experts = (0..keys.num_local_experts).map(|number| {
        let mut linear = |name, size| Linear::load(weights, &format!("{at}.experts.{number}.{name}"), size, false);
        let (gate, up) = (linear(names.gate, (inner, hidden))?, linear(names.up, (inner, hidden))?);
        Ok::<_, EngineFault>(GatedMlp::new(gate, up, linear(names.down, (hidden, inner))?, shape.activation))
    });
    let experts = Experts::new(experts.collect::<Result<_, _>>()?).map_err(|error| device_fault(&error))?;
    let router = Router { gate, top_k: keys.num_experts_per_tok, rule: RoutingRule::Softmax { normalise: true } };
    Ok(SparseMoe { router, experts, shared: None })
}
