//! DeepSeek-V2 (DeepSeek-AI 2024): latent attention, and in all but the first layers many small experts with some for every row.
//!
//! Scores are scaled by `mscale_all_dim` as in the authors' code and in transformers since its pull request 47435; transformers 4.57
//! omits this for V2.

use super::decoder::{Decoder, DecoderLayer, Placement, Positions};
use super::pre_norm::{self, Mlp};
use crate::blocks::{
    AttentionShape, Experts, LatentAttention, LatentQueries, LatentShape, Linear, Pass, RmsNorm, Router, SharedExpert,
    SparseMoe,
};
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig, RopeConfig};
use crate::fault::device_fault;
use crate::kernels::{Groups, Pairing, RoutingRule, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use serde_json::Value;
use tch::{Kind, TchError, Tensor};

/// Keys of attention and of experts; also DeepSeek-V3's.
#[derive(Deserialize)]
pub(super) struct LatentKeys {
    #[serde(default)]
    q_lora_rank: Option<i64>,
    kv_lora_rank: i64,
    qk_nope_head_dim: i64,
    qk_rope_head_dim: i64,
    v_head_dim: i64,
    attention_bias: Option<bool>,
    rope_theta: Option<f64>,
    rope_parameters: Option<Value>,
    max_position_embeddings: Option<f64>,
    n_routed_experts: Option<i64>,
    n_shared_experts: Option<i64>,
    num_experts_per_tok: Option<i64>,
    moe_intermediate_size: Option<i64>,
    first_k_dense_replace: Option<usize>,
    moe_layer_freq: Option<i64>,
    n_group: Option<i64>,
    topk_group: Option<i64>,
    num_nextn_predict_layers: Option<usize>,
}

#[derive(Deserialize)]
struct Keys {
    mlp_bias: Option<bool>,
    topk_method: Option<String>,
    norm_topk_prob: Option<bool>,
    routed_scaling_factor: Option<f64>,
}

/// Norms of queries and of latent rows have this constant whatever the configuration says.
const LATENT_EPS: f64 = 1e-6;

/// A layer with Llama's two norms.
pub(super) struct Layer {
    input_layernorm: RmsNorm,
    self_attn: LatentAttention,
    post_attention_layernorm: RmsNorm,
    mlp: Mlp,
}

impl DecoderLayer for Layer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        let attended = self.self_attn.forward(&self.input_layernorm.forward(kernels, x)?, pass)?;
        let (x, normed) = self.post_attention_layernorm.of_sum(kernels, x, &attended)?;
        kernels.add(&x, &self.mlp.forward(kernels, &normed)?)
    }

    fn join(&mut self) -> Result<(), TchError> {
        self.mlp.join()
    }

    fn stack_experts(&mut self) -> Result<(), TchError> {
        self.mlp.stack_experts()
    }
}

impl LatentKeys {
    /// Returns the widths of attention.
    ///
    /// # Errors
    /// A message if they do not fit together.
    pub(super) fn shape(&self, heads: i64) -> Result<LatentShape, String> {
        let shape = LatentShape {
            heads,
            nope: self.qk_nope_head_dim,
            rope: self.qk_rope_head_dim,
            value: self.v_head_dim,
            latent: self.kv_lora_rank,
        };
        if shape.value > shape.key() {
            return Err(format!("v_head_dim {} is more than {}, the width of keys", shape.value, shape.key()));
        }
        Ok(shape)
    }

    fn rope(&self) -> Result<RopeConfig, String> {
        RopeConfig::read(
            self.rope_parameters.clone(),
            self.rope_theta.unwrap_or(10_000.0),
            self.qk_rope_head_dim,
            None,
            (self.max_position_embeddings, None),
        )
    }

    /// Returns the factor of scores: `mscale_all_dim` makes up for the scaling of positions in all entries of a head.
    fn score_scale(&self, shape: LatentShape) -> f64 {
        let number =
            |key: &str| self.rope_parameters.as_ref().and_then(|scaling| scaling.get(key)).and_then(Value::as_f64);
        let mscale = match (number("factor"), number("mscale_all_dim")) {
            (Some(factor), Some(all_dim)) if factor > 1.0 => 0.1 * all_dim * factor.ln() + 1.0,
            _ => 1.0,
        };
        (shape.key() as f64).powf(-0.5) * mscale * mscale
    }

    /// Returns the groups of experts; `None` if a row's experts may be any.
    ///
    /// # Errors
    /// A message if experts and groups do not fit together.
    pub(super) fn groups(&self) -> Result<Option<Groups>, String> {
        let (count, experts) = (self.n_group.unwrap_or(1), self.n_routed_experts.unwrap_or(1));
        let chosen = self.topk_group.unwrap_or(count);
        if count < 1 || experts % count != 0 || chosen < 1 || chosen > count {
            return Err(format!(
                "n_routed_experts {experts}, n_group {count} and topk_group {chosen} do not fit together"
            ));
        }
        Ok((count > 1).then_some(Groups { count, chosen }))
    }

    /// Loads a model; `rule` loads the rest of the router of a layer from under its second argument.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if weights and configuration do not match.
    pub(super) fn load(
        &self,
        config: &ModelConfig,
        weights: &mut Weights,
        (to, pairing, kind): (Placement, Pairing, Kind),
        mlp_bias: bool,
        rule: impl Fn(&mut Weights, &str) -> Result<RoutingRule, EngineFault>,
    ) -> Result<Decoder, EngineFault> {
        let shape = LlamaShape::read(config, &LlamaDefaults::default())?;
        let latent = self.shape(shape.attention.heads).map_err(|what| config.fault(what))?;
        let rope = self.rope().map_err(|what| config.fault(what))?;
        if self.moe_layer_freq.is_some_and(|every| every != 1) {
            return Err(config.fault("`moe_layer_freq` other than 1 is not supported"));
        }
        let attention = AttentionShape { heads: latent.heads, kv_heads: latent.heads, head_dim: latent.key() };
        let shape = LlamaShape { attention, rope, ..shape };
        let decoder = pre_norm::load(&shape, weights, to, |number, at, weights| {
            let mlp_at = format!("{at}.mlp");
            let dense = self.n_routed_experts.is_none() || number < self.first_k_dense_replace.unwrap_or(0);
            let self_attn = self.attention(&shape, latent, weights, &format!("{at}.self_attn"))?;
            let mlp = if dense {
                Mlp::Dense(pre_norm::gated_mlp(&shape, weights, &mlp_at, shape.intermediate_size, mlp_bias)?)
            } else {
                let routing = rule(weights, &mlp_at)?;
                Mlp::Sparse(self.experts(config, &shape, weights, &mlp_at, mlp_bias, routing)?)
            };
            Ok(Layer {
                input_layernorm: pre_norm::norm(&shape, weights, &format!("{at}.input_layernorm"))?,
                self_attn,
                post_attention_layernorm: pre_norm::norm(&shape, weights, &format!("{at}.post_attention_layernorm"))?,
                mlp,
            })
        })?;
        // Layers that predict more than the next token.
        for extra in 0..self.num_nextn_predict_layers.unwrap_or(0).min(MOST_EXTRA_LAYERS) {
            weights.skip_prefix(&format!("model.layers.{}.", shape.layers + extra));
        }
        let positions = Positions::rotary_of(&[&shape.rope], pairing, &Placement { kind, ..to })?;
        Ok(Decoder { positions, ..decoder })
    }

    fn attention(
        &self,
        shape: &LlamaShape,
        latent: LatentShape,
        weights: &mut Weights,
        at: &str,
    ) -> Result<LatentAttention, EngineFault> {
        let (hidden, biased) = (shape.hidden_size, self.attention_bias.unwrap_or(false));
        let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.{name}"), size, biased);
        let q_width = latent.heads * latent.key();
        let queries = match self.q_lora_rank {
            None => LatentQueries::Direct(linear("q_proj", (q_width, hidden), false)?),
            Some(rank) => {
                let q_a_proj = linear("q_a_proj", (rank, hidden), biased)?;
                let q_b_proj = linear("q_b_proj", (q_width, rank), false)?;
                let q_a_layernorm = RmsNorm::load(weights, &format!("{at}.q_a_layernorm"), rank, LATENT_EPS)?;
                LatentQueries::LowRank { q_a_proj, q_a_layernorm, q_b_proj }
            }
        };
        let mut linear = |name: &str, size, biased| Linear::load(weights, &format!("{at}.{name}"), size, biased);
        let kv_width = latent.heads * (latent.nope + latent.value);
        Ok(LatentAttention {
            shape: latent,
            queries,
            kv_a_proj_with_mqa: linear("kv_a_proj_with_mqa", (latent.latent + latent.rope, hidden), biased)?,
            kv_b_proj: linear("kv_b_proj", (kv_width, latent.latent), false)?,
            o_proj: linear("o_proj", (hidden, latent.heads * latent.value), biased)?,
            kv_a_layernorm: RmsNorm::load(weights, &format!("{at}.kv_a_layernorm"), latent.latent, LATENT_EPS)?,
            rule: ScoreRule { scale: Some(self.score_scale(latent)), ..ScoreRule::default() },
        })
    }

    fn experts(
        &self,
        config: &ModelConfig,
        shape: &LlamaShape,
        weights: &mut Weights,
        at: &str,
        biased: bool,
        rule: RoutingRule,
    ) -> Result<SparseMoe, EngineFault> {
        let missing = |key: &str| config.fault(format!("`{key}` is missing"));
        let count = self.n_routed_experts.ok_or_else(|| missing("n_routed_experts"))?;
        let top_k = self.num_experts_per_tok.ok_or_else(|| missing("num_experts_per_tok"))?;
        let width = self.moe_intermediate_size.ok_or_else(|| missing("moe_intermediate_size"))?;
        let gate = Linear::load_wide(weights, &format!("{at}.gate"), (count, shape.hidden_size))?;
        let experts = (0..count)
            .map(|number| pre_norm::gated_mlp(shape, weights, &format!("{at}.experts.{number}"), width, biased));
        let experts = Experts::new(experts.collect::<Result<_, _>>()?).map_err(|error| device_fault(&error))?;
        let shared = match self.n_shared_experts {
            None => None,
            Some(shared) => {
                let width = width.saturating_mul(shared);
                let mlp = pre_norm::gated_mlp(shape, weights, &format!("{at}.shared_experts"), width, biased)?;
                Some(SharedExpert { mlp, gate: None })
            }
        };
        Ok(SparseMoe { router: Router { gate, top_k, rule }, experts, shared })
    }
}

/// More layers of this kind are an error of the configuration.
const MOST_EXTRA_LAYERS: usize = 16;

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and configuration do not match, or the choice of experts is not supported.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let latent: LatentKeys = config.keys()?;
    let keys: Keys = config.keys()?;
    let groups = match keys.topk_method.as_deref().unwrap_or("greedy") {
        "greedy" => None,
        "group_limited_greedy" => latent.groups().map_err(|what| config.fault(what))?,
        other => {
            let known = "greedy, group_limited_greedy";
            return Err(config.fault(format!("topk_method `{other}` is not supported; supported are: {known}")));
        }
    };
    if keys.norm_topk_prob.unwrap_or(false) {
        weights.notes.push("norm_topk_prob is not obeyed, as in transformers' DeepSeek-V2".to_owned());
    }
    let scale = keys.routed_scaling_factor.unwrap_or(1.0);
    // transformers turns heads in f32 whatever the kind of the model.
    let how = (to, Pairing::Neighbours, Kind::Float);
    latent.load(config, weights, how, keys.mlp_bias.unwrap_or(false), |_, _| {
        Ok(RoutingRule::ScaledSoftmax { groups, scale })
    })
}
