//! Qwen1.5-MoE and Qwen2-MoE (Qwen team 2024): Qwen2 with experts in most layers, and one shared expert for every row.

use super::decoder::{Decoder, Placement};
use super::pre_norm::{self, Mlp};
use crate::blocks::{Experts, Linear, Router, SharedExpert, SparseMoe};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig};
use crate::fault::device_fault;
use crate::kernels::{RoutingRule, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

/// Configuration of the experts; also Qwen3-MoE's.
#[derive(Deserialize)]
pub(super) struct ExpertKeys {
    num_experts: i64,
    num_experts_per_tok: i64,
    moe_intermediate_size: i64,
    norm_topk_prob: Option<bool>,
    /// Interval of layers with experts.
    decoder_sparse_step: Option<usize>,
    /// Exceptions: layers without experts.
    mlp_only_layers: Option<Vec<usize>>,
}

impl ExpertKeys {
    /// Returns whether a layer has experts.
    pub(super) fn in_layer(&self, number: usize) -> bool {
        let excepted = self.mlp_only_layers.as_ref().is_some_and(|layers| layers.contains(&number));
        let step = self.decoder_sparse_step.unwrap_or(1).max(1);
        !excepted && self.num_experts > 0 && (number + 1).is_multiple_of(step)
    }

    /// Loads the experts under `at`, without a shared one.
    pub(super) fn load(&self, shape: &LlamaShape, weights: &mut Weights, at: &str) -> Result<SparseMoe, EngineFault> {
        let gate = Linear::load(weights, &format!("{at}.gate"), (self.num_experts, shape.hidden_size), false)?;
        let experts = (0..self.num_experts).map(|number| {
            pre_norm::gated_mlp(shape, weights, &format!("{at}.experts.{number}"), self.moe_intermediate_size, false)
        });
        let experts = Experts::new(experts.collect::<Result<_, _>>()?).map_err(|error| device_fault(&error))?;
        let rule = RoutingRule::Softmax { normalise: self.norm_topk_prob.unwrap_or(false) };
        let router = Router { gate, top_k: self.num_experts_per_tok, rule };
        Ok(SparseMoe { router, experts, shared: None })
    }
}

#[derive(Deserialize)]
struct Keys {
    shared_expert_intermediate_size: i64,
    qkv_bias: Option<bool>,
    use_sliding_window: Option<bool>,
    sliding_window: Option<i64>,
}

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
    let keys: Keys = config.keys()?;
    let experts: ExpertKeys = config.keys()?;
    let window = keys.sliding_window.filter(|_| keys.use_sliding_window.unwrap_or(false));
    let biases = (keys.qkv_bias.unwrap_or(true), false);
    pre_norm::load(&shape, weights, to, |number, at, weights| {
        let rule = ScoreRule { window, ..ScoreRule::default() };
        let self_attn = pre_norm::attention(&shape, weights, at, biases, rule)?;
        let mlp = if experts.in_layer(number) {
            let moe = experts.load(&shape, weights, &format!("{at}.mlp"))?;
            let shared = shared_expert(&shape, &keys, weights, &format!("{at}.mlp"))?;
            Mlp::Sparse(SparseMoe { shared: Some(shared), ..moe })
        } else {
            pre_norm::dense_mlp(&shape, weights, at)?
        };
        pre_norm::layer(&shape, weights, at, self_attn, mlp)
    })
}

fn shared_expert(
    shape: &LlamaShape,
    keys: &Keys,
    weights: &mut Weights,
    at: &str,
) -> Result<SharedExpert, EngineFault> {
    let width = keys.shared_expert_intermediate_size;
    let mlp = pre_norm::gated_mlp(shape, weights, &format!("{at}.shared_expert"), width, false)?;
    let gate = Linear::load(weights, &format!("{at}.shared_expert_gate"), (1, shape.hidden_size), false)?;
    Ok(SharedExpert { mlp, gate: Some(gate) })
}
