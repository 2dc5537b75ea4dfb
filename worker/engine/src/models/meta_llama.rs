//! Llama in Meta's distribution (Touvron et al. 2023): params.json, and weights whose heads are rotated in neighbouring
//! pairs.
//!
//! transformers rotates the first half of a head with the second; the rows of queries and keys are reordered
//! accordingly when they are loaded, so that both are the same model to the bit (its `convert_llama_weights_to_hf.py`).

use super::decoder::{Decoder, Placement};
use super::internlm2::layer;
use super::pre_norm::{self, TensorNames};
use crate::blocks::{Activation, Attention, AttentionShape, Linear, Projections};
use crate::config::{LlamaShape, ModelConfig, RopeConfig, RopeScaling};
use crate::fault::device_fault;
use crate::kernels::{RmsForm, ScoreRule};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use tch::{TchError, Tensor};

#[derive(Deserialize)]
struct Params {
    dim: i64,
    n_layers: usize,
    n_heads: i64,
    n_kv_heads: Option<i64>,
    /// Absent or -1 if only the tokenizer knows.
    vocab_size: Option<i64>,
    multiple_of: Option<i64>,
    ffn_dim_multiplier: Option<f64>,
    norm_eps: Option<f64>,
    rope_theta: Option<f64>,
    use_scaled_rope: Option<bool>,
    quantization_args: Option<serde_json::Value>,
}

const NAMES: TensorNames =
    TensorNames { prefix: "", embeddings: "tok_embeddings", layers: "layers", norm: "norm", lm_head: "output" };

/// Loads the model from `weights`.
///
/// # Errors
/// [`EngineFault::Model`] if weights and parameters do not match.
pub(crate) fn load(config: &ModelConfig, weights: &mut Weights, to: Placement) -> Result<Decoder, EngineFault> {
    let params: Params = config.keys()?;
    if params.quantization_args.is_some() {
        return Err(
            config.fault("quantised weights (quantization_args) are not supported; use the original checkpoint")
        );
    }
    let vocabulary = params.vocab_size.filter(|&size| size > 0).or(weights.rows("output.weight"));
    let vocabulary =
        vocabulary.ok_or_else(|| config.fault("`vocab_size` is not given, and there is no output.weight"))?;
    let shape = shape(&params, vocabulary).map_err(|what| config.fault(what))?;
    // The frequencies, which are computed.
    weights.skip("rope.freqs");
    pre_norm::load_named(&shape, weights, to, &NAMES, |_, at, weights| {
        let (hidden, heads) = (shape.hidden_size, shape.attention);
        let mut take = |name: &str, size: [i64; 2]| weights.take(&format!("{at}.attention.{name}.weight"), &size);
        let halved = |weight: Tensor, heads| halves_apart(&weight, heads).map_err(|error| device_fault(&error));
        let projection = |weight| Linear::new(weight, None);
        let self_attn = Attention {
            shape: heads,
            projections: Projections::Separate {
                q_proj: projection(halved(take("wq", [heads.q_width(), hidden])?, heads.heads)?),
                k_proj: projection(halved(take("wk", [heads.kv_width(), hidden])?, heads.kv_heads)?),
                v_proj: projection(take("wv", [heads.kv_width(), hidden])?),
            },
            qk_norm: None,
            query_scale: None,
            rule: ScoreRule::default(),
            o_proj: projection(take("wo", [hidden, heads.q_width()])?),
        };
        layer(&shape, weights, at, self_attn)
    })
}

/// Returns the sizes, by the arithmetic of Meta's `FeedForward` and `precompute_freqs_cis` (llama-models,
/// `llama3/model.py`). Its constants of the scaled rotary embedding are Llama 3.1's; transformers uses a factor
/// of 32 for Llama 3.2.
fn shape(params: &Params, vocab_size: i64) -> Result<LlamaShape, String> {
    let (heads, kv_heads) = (params.n_heads, params.n_kv_heads.unwrap_or(params.n_heads));
    let head_dim = params.dim / heads.max(1);
    if heads < 1 || params.dim % heads != 0 || kv_heads < 1 || heads % kv_heads != 0 || head_dim % 2 != 0 {
        return Err(format!("dim {}, {heads} n_heads and {kv_heads} n_kv_heads do not fit together", params.dim));
    }
    let third = 8 * params.dim / 3;
    let wide = params.ffn_dim_multiplier.map_or(third, |multiplier| (multiplier * third as f64) as i64);
    let multiple = params.multiple_of.unwrap_or(256).max(1);
    let scaling = match params.use_scaled_rope.unwrap_or(false) {
        false => RopeScaling::Default,
        true => RopeScaling::Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8192.0,
        },
    };
    Ok(LlamaShape {
        hidden_size: params.dim,
        intermediate_size: wide.saturating_add(multiple - 1) / multiple * multiple,
        layers: params.n_layers,
        attention: AttentionShape { heads, kv_heads, head_dim },
        vocab_size,
        rms_norm_eps: params.norm_eps.unwrap_or(1e-5),
        norm: RmsForm::AfterCast,
        rope: RopeConfig { theta: params.rope_theta.unwrap_or(10_000.0), dim: head_dim, scaling },
        tie_word_embeddings: false,
        activation: Activation::Silu,
    })
}

/// Reorders `[heads * head_dim, hidden]` from pairs of rows of each head to the first of each pair, followed by the
/// second.
fn halves_apart(weight: &Tensor, heads: i64) -> Result<Tensor, TchError> {
    let (rows, hidden) = weight.size2()?;
    let pairs = weight.f_view([heads, rows / heads / 2, 2, hidden])?;
    pairs.f_transpose(1, 2)?.f_reshape([rows, hidden])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sizes(params: serde_json::Value) -> Result<(i64, i64), String> {
        let params: Params = serde_json::from_value(params).unwrap();
        shape(&params, 32_000).map(|shape| (shape.intermediate_size, shape.attention.head_dim))
    }

    #[test]
    fn widths_of_the_published_models() {
        let seven =
            json!({"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "norm_eps": 1e-5, "vocab_size": -1});
        assert_eq!(sizes(seven), Ok((11_008, 128)));
        let seventy = json!({"dim": 8192, "multiple_of": 4096, "ffn_dim_multiplier": 1.3, "n_heads": 64, "n_kv_heads": 8, "n_layers": 80});
        assert_eq!(sizes(seventy), Ok((28_672, 128)));
        let eight = json!({"dim": 4096, "ffn_dim_multiplier": 1.3, "multiple_of": 1024, "n_heads": 32, "n_kv_heads": 8, "n_layers": 32});
        assert_eq!(sizes(eight), Ok((14_336, 128)));
        assert!(sizes(json!({"dim": 4096, "n_heads": 30, "n_layers": 1})).unwrap_err().contains("do not fit"));
    }
}
