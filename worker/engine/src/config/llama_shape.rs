//! Keys common to Llama and related families: sizes, heads, rotary embedding, tying.

use super::{ModelConfig, RopeConfig};
use crate::blocks::{Activation, AttentionShape};
use crate::kernels::RmsForm;
use compass_plan::engine::EngineFault;
use serde::Deserialize;
use serde_json::Value;

/// Shape of a Llama-like decoder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LlamaShape {
    pub(crate) hidden_size: i64,
    pub(crate) intermediate_size: i64,
    pub(crate) layers: usize,
    pub(crate) attention: AttentionShape,
    pub(crate) vocab_size: i64,
    pub(crate) rms_norm_eps: f64,
    pub(crate) norm: RmsForm,
    pub(crate) rope: RopeConfig,
    pub(crate) tie_word_embeddings: bool,
    pub(crate) activation: Activation,
}

/// A family's values for keys that config.json leaves out: the defaults of transformers' configuration classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LlamaDefaults {
    pub(crate) rms_norm_eps: f64,
    /// The same in every file of a family.
    pub(crate) norm: RmsForm,
    pub(crate) rope_theta: f64,
    /// Part of a head that is rotated; all of it if absent.
    pub(crate) partial_rotary_factor: Option<f64>,
    /// `hidden_size / num_attention_heads` if absent.
    pub(crate) head_dim: Option<i64>,
    pub(crate) tie_word_embeddings: bool,
    pub(crate) activation: &'static str,
}

impl Default for LlamaDefaults {
    fn default() -> Self {
        Self {
            rms_norm_eps: 1e-6,
            norm: RmsForm::AfterCast,
            rope_theta: 10_000.0,
            partial_rotary_factor: None,
            head_dim: None,
            tie_word_embeddings: false,
            activation: "silu",
        }
    }
}

#[derive(Deserialize)]
struct Raw {
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    num_key_value_heads: Option<i64>,
    head_dim: Option<i64>,
    vocab_size: i64,
    hidden_act: Option<String>,
    /// Gemma's name for `hidden_act`, which it keeps for old configurations.
    hidden_activation: Option<String>,
    rms_norm_eps: Option<f64>,
    rope_theta: Option<f64>,
    rope_parameters: Option<Value>,
    partial_rotary_factor: Option<f64>,
    max_position_embeddings: Option<f64>,
    original_max_position_embeddings: Option<f64>,
    tie_word_embeddings: Option<bool>,
}

impl LlamaShape {
    /// Reads config.json.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if a key is missing, does not fit the others, or asks for an unsupported feature.
    pub(crate) fn read(config: &ModelConfig, defaults: &LlamaDefaults) -> Result<Self, EngineFault> {
        Self::from_raw(config.keys()?, defaults).map_err(|what| config.fault(what))
    }

    fn from_raw(raw: Raw, defaults: &LlamaDefaults) -> Result<Self, String> {
        let heads = raw.num_attention_heads;
        let kv_heads = raw.num_key_value_heads.unwrap_or(heads);
        let head_dim = raw.head_dim.or(defaults.head_dim).unwrap_or(raw.hidden_size / heads.max(1));
        if heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || head_dim < 2 || head_dim % 2 != 0 {
            return Err(format!(
                "{heads} attention heads, {kv_heads} key-value heads and head_dim {head_dim} do not fit together"
            ));
        }
        let rope = RopeConfig::read(
            raw.rope_parameters,
            raw.rope_theta.unwrap_or(defaults.rope_theta),
            head_dim,
            raw.partial_rotary_factor.or(defaults.partial_rotary_factor),
            (raw.max_position_embeddings, raw.original_max_position_embeddings),
        )?;
        let activation = raw.hidden_activation.or(raw.hidden_act);
        Ok(Self {
            hidden_size: raw.hidden_size,
            intermediate_size: raw.intermediate_size,
            layers: raw.num_hidden_layers,
            attention: AttentionShape { heads, kv_heads, head_dim },
            vocab_size: raw.vocab_size,
            rms_norm_eps: raw.rms_norm_eps.unwrap_or(defaults.rms_norm_eps),
            norm: defaults.norm,
            rope,
            tie_word_embeddings: raw.tie_word_embeddings.unwrap_or(defaults.tie_word_embeddings),
            activation: Activation::named(activation.as_deref().unwrap_or(defaults.activation))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RopeScaling;
    use serde_json::json;

    fn parse(changes: &Value) -> Result<LlamaShape, String> {
        let mut keys = json!({
            "hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 5, "num_attention_heads": 8,
            "num_key_value_heads": 4, "vocab_size": 512
        });
        for (key, value) in changes.as_object().unwrap() {
            keys[key] = value.clone();
        }
        let config = ModelConfig::from_json("config.json".into(), keys);
        let shape = config.and_then(|config| LlamaShape::read(&config, &LlamaDefaults::default()));
        shape.map_err(|fault| fault.to_string())
    }

    #[test]
    fn rope_has_an_old_and_a_new_spelling() {
        let old = parse(&json!({"rope_theta": 5e5, "rope_scaling": null})).unwrap();
        let new = parse(&json!({"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})).unwrap();
        assert_eq!(old, new);
        assert_eq!(old.rope.theta, 5e5);
        let linear = parse(&json!({"rope_scaling": {"type": "linear", "factor": 2.0}})).unwrap();
        assert_eq!(linear.rope, RopeConfig { theta: 1e4, dim: 8, scaling: RopeScaling::Linear { factor: 2.0 } });
    }

    #[test]
    fn errors_name_unsupported_features() {
        let error_of = |changes: Value| parse(&changes).unwrap_err();
        let error = error_of(json!({"rope_scaling": {"rope_type": "xpos", "factor": 4.0}}));
        assert!(error.contains("`xpos`") && error.contains("yarn"), "{error}");
        let error = error_of(json!({"hidden_act": "snake"}));
        assert!(error.contains("`snake`") && error.contains("silu"), "{error}");
        let error = error_of(json!({"vocab_size": "many"}));
        assert!(error.contains("config.json"), "{error}");
        let error = error_of(json!({"rope_scaling": {"rope_type": "yarn"}}));
        assert!(error.contains("`factor`"), "{error}");
        assert!(error_of(json!({"num_key_value_heads": 3})).contains("do not fit"));
    }
}
