//! DeepSeek-V3 and R1 (DeepSeek-AI 2024), and models of the same class, for example Kimi K2 and Moonlight: DeepSeek-V2 whose experts
//! are chosen by sigmoids with a learnt correction.
//! chosen by sigmoids with a learnt correction.

use super::decoder::{Decoder, Placement};
use super::deepseek_v2::LatentKeys;
use crate::config::ModelConfig;
use crate::kernels::{Pairing, RoutingRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;

#[derive(Deserialize)]
struct Keys {
    n_routed_experts: i64,
    scoring_func: Option<String>,
    topk_method: Option<String>,
    norm_topk_prob: Option<bool>,
    routed_scaling_factor: Option<f64>,
    rope_interleave: Option<bool>,
}

/// Loads the model from `weights`. The correction of the experts is kept in f32, as it is stored, in models of any kind.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match, or the choice of experts is not supported.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let latent: LatentKeys = config.keys()?;
    let keys: Keys = config.keys()?;
    for (key, value, known) in
        [("scoring_func", &keys.scoring_func, "sigmoid"), ("topk_method", &keys.topk_method, "noaux_tc")]
    {
        if let Some(other) = value.as_deref().filter(|&value| value != known) {
            return Err(config.fault(format!("{key} `{other}` is not supported; supported is: {known}")));
        }
    }
    let groups = latent.groups().map_err(|what| config.fault(what))?;
    if groups.is_some_and(|groups| keys.n_routed_experts / groups.count < 2) {
        return Err(config.fault("n_group leaves less than two experts in a group"));
    }
    let normalise = keys.norm_topk_prob.unwrap_or(true);
    let scale = keys.routed_scaling_factor.unwrap_or(2.5);
    let pairing = if keys.rope_interleave.unwrap_or(true) { Pairing::Sorted } else { Pairing::Halves };
    latent.load(config, weights, (to, pairing, to.kind), false, |weights, at| {
        let correction = weights.take_wide(&format!("{at}.gate.e_score_correction_bias"), &[keys.n_routed_experts])?;
        Ok(RoutingRule::Sigmoid { correction, groups, normalise, scale })
    })
}
