//! `config.json` and `generation_config.json` of a Hugging Face directory, read into what the models need.
//!
//! Defaults are those of transformers' `LlamaConfig`. What is asked for and not supported is an error that names it.

use crate::fault::file_fault;
use compass_common::engine::EngineFault;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// Architectures that can be loaded, as config.json spells them.
pub(crate) const SUPPORTED: &[&str] = &["LlamaForCausalLM"];

/// The shape of a Llama and the ids that end its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelConfig {
    pub(crate) hidden_size: i64,
    pub(crate) intermediate_size: i64,
    pub(crate) layers: usize,
    pub(crate) heads: i64,
    pub(crate) kv_heads: i64,
    pub(crate) head_dim: i64,
    pub(crate) vocab_size: i64,
    pub(crate) rms_norm_eps: f64,
    pub(crate) rope: RopeConfig,
    pub(crate) tie_word_embeddings: bool,
    pub(crate) attention_bias: bool,
    pub(crate) mlp_bias: bool,
    /// Absent when config.json does not say.
    pub(crate) max_position_embeddings: Option<u32>,
    pub(crate) bos_token_id: Option<u32>,
    /// Of config.json and generation_config.json together.
    pub(crate) eos_token_ids: Vec<u32>,
}

/// Rotary embedding: the base and how long contexts stretch it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RopeConfig {
    pub(crate) theta: f64,
    pub(crate) scaling: RopeScaling,
}

/// Supported kinds of `rope_type`, with transformers' names for their parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RopeScaling {
    Default,
    Linear { factor: f64 },
    Llama3 { factor: f64, low_freq_factor: f64, high_freq_factor: f64, original_max_position_embeddings: f64 },
}

#[derive(Deserialize)]
struct RawConfig {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    hidden_size: Option<i64>,
    intermediate_size: Option<i64>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<i64>,
    num_key_value_heads: Option<i64>,
    head_dim: Option<i64>,
    vocab_size: Option<i64>,
    hidden_act: Option<String>,
    rms_norm_eps: Option<f64>,
    rope_theta: Option<f64>,
    rope_scaling: Option<RawRope>,
    rope_parameters: Option<RawRope>,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    max_position_embeddings: Option<u32>,
    quantization_config: Option<Value>,
    bos_token_id: Option<Value>,
    eos_token_id: Option<Value>,
}

#[derive(Deserialize)]
struct RawRope {
    rope_theta: Option<f64>,
    rope_type: Option<String>,
    /// Old spelling of `rope_type`.
    r#type: Option<String>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
}

#[derive(Deserialize)]
struct RawGenerationConfig {
    eos_token_id: Option<Value>,
}

/// One id or a list of ids: both spellings occur in the wild.
fn token_ids(value: Option<Value>, key: &str) -> Result<Vec<u32>, String> {
    let ids = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(ids)) => ids,
        Some(one) => vec![one],
    };
    let read = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    ids.iter().map(|id| read(id).ok_or_else(|| format!("`{key}` holds {id}, which is no token id"))).collect()
}

/// Reads a JSON file; `None` when it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EngineFault> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            file_fault(path, format!("not as expected: {error}; fetch the file again, or correct it"))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_fault(path, error)),
    }
}

impl ModelConfig {
    /// Reads the two files of `directory`; generation_config.json may be missing.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when config.json is missing, malformed, or asks for what is not supported.
    pub(crate) fn read(directory: &Path) -> Result<Self, EngineFault> {
        let path = directory.join("config.json");
        let raw: RawConfig = read_json(&path)?
            .ok_or_else(|| file_fault(&path, "no such file: `path` must name a Hugging Face model directory"))?;
        let mut config = Self::from_raw(raw).map_err(|what| file_fault(&path, what))?;
        let path = directory.join("generation_config.json");
        let generation: Option<RawGenerationConfig> = read_json(&path)?;
        let more = generation.and_then(|generation| generation.eos_token_id);
        config.eos_token_ids.extend(token_ids(more, "eos_token_id").map_err(|what| file_fault(&path, what))?);
        Ok(config)
    }

    fn from_raw(raw: RawConfig) -> Result<Self, String> {
        check_supported(&raw)?;
        let hidden_size = required(raw.hidden_size, "hidden_size")?;
        let heads = required(raw.num_attention_heads, "num_attention_heads")?;
        let kv_heads = raw.num_key_value_heads.unwrap_or(heads);
        let head_dim = raw.head_dim.unwrap_or(hidden_size / heads.max(1));
        if heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || head_dim < 2 || head_dim % 2 != 0 {
            return Err(format!(
                "{heads} attention heads, {kv_heads} key-value heads and head_dim {head_dim} do not fit together"
            ));
        }
        Ok(Self {
            hidden_size,
            intermediate_size: required(raw.intermediate_size, "intermediate_size")?,
            layers: required(raw.num_hidden_layers, "num_hidden_layers")?,
            heads,
            kv_heads,
            head_dim,
            vocab_size: required(raw.vocab_size, "vocab_size")?,
            rms_norm_eps: raw.rms_norm_eps.unwrap_or(1e-6),
            rope: rope(raw.rope_parameters.or(raw.rope_scaling), raw.rope_theta)?,
            tie_word_embeddings: raw.tie_word_embeddings.unwrap_or(false),
            attention_bias: raw.attention_bias.unwrap_or(false),
            mlp_bias: raw.mlp_bias.unwrap_or(false),
            max_position_embeddings: raw.max_position_embeddings,
            bos_token_id: token_ids(raw.bos_token_id, "bos_token_id")?.first().copied(),
            eos_token_ids: token_ids(raw.eos_token_id, "eos_token_id")?,
        })
    }
}

fn check_supported(raw: &RawConfig) -> Result<(), String> {
    let named = raw.architectures.as_ref().and_then(|names| names.first()).map(String::as_str);
    let architecture = match (named, raw.model_type.as_deref()) {
        (Some(name), _) => name,
        (None, Some("llama")) => "LlamaForCausalLM",
        (None, Some(kind)) => kind,
        (None, None) => "(none named)",
    };
    if !SUPPORTED.contains(&architecture) {
        return Err(format!("architecture {architecture} is not supported; supported are: {}", SUPPORTED.join(", ")));
    }
    if raw.quantization_config.is_some() {
        return Err("quantised weights (quantization_config) are not supported; use the original checkpoint".into());
    }
    match raw.hidden_act.as_deref() {
        None | Some("silu" | "swish") => Ok(()),
        Some(other) => Err(format!("hidden_act `{other}` is not supported; supported is: silu")),
    }
}

fn required<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("`{key}` is missing"))
}

fn rope(raw: Option<RawRope>, old_theta: Option<f64>) -> Result<RopeConfig, String> {
    let theta = raw.as_ref().and_then(|raw| raw.rope_theta).or(old_theta).unwrap_or(10_000.0);
    let Some(raw) = raw else {
        return Ok(RopeConfig { theta, scaling: RopeScaling::Default });
    };
    let scaling = match raw.rope_type.as_deref().or(raw.r#type.as_deref()).unwrap_or("default") {
        "default" => RopeScaling::Default,
        "linear" => RopeScaling::Linear { factor: required(raw.factor, "rope factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: required(raw.factor, "rope factor")?,
            low_freq_factor: required(raw.low_freq_factor, "rope low_freq_factor")?,
            high_freq_factor: required(raw.high_freq_factor, "rope high_freq_factor")?,
            original_max_position_embeddings: required(
                raw.original_max_position_embeddings,
                "rope original_max_position_embeddings",
            )?,
        },
        other => return Err(format!("rope_type `{other}` is not supported; supported are: default, linear, llama3")),
    };
    Ok(RopeConfig { theta, scaling })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(changes: serde_json::Value) -> Result<ModelConfig, String> {
        let mut json = serde_json::json!({
            "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 5,
            "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 512, "eos_token_id": 2
        });
        for (key, value) in changes.as_object().unwrap() {
            json[key] = value.clone();
        }
        ModelConfig::from_raw(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn old_and_new_spelling_of_rope() {
        let old = parse(serde_json::json!({"rope_theta": 5e5, "rope_scaling": null})).unwrap();
        let new = parse(serde_json::json!({"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})).unwrap();
        assert_eq!(old, new);
        assert_eq!(old.rope.theta, 5e5);
        let linear = parse(serde_json::json!({"rope_scaling": {"type": "linear", "factor": 2.0}})).unwrap();
        assert_eq!(linear.rope, RopeConfig { theta: 1e4, scaling: RopeScaling::Linear { factor: 2.0 } });
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let error = parse(serde_json::json!({"architectures": ["MambaForCausalLM"]})).unwrap_err();
        assert!(error.contains("MambaForCausalLM") && error.contains("LlamaForCausalLM"), "{error}");
        let error = parse(serde_json::json!({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}})).unwrap_err();
        assert!(error.contains("`yarn`"), "{error}");
        let error = parse(serde_json::json!({"hidden_act": "gelu"})).unwrap_err();
        assert!(error.contains("`gelu`"), "{error}");
        let error = parse(serde_json::json!({"vocab_size": null})).unwrap_err();
        assert!(error.contains("`vocab_size`"), "{error}");
        assert!(parse(serde_json::json!({"num_key_value_heads": 3})).is_err());
    }

    #[test]
    fn ids_come_as_one_or_as_a_list() {
        assert_eq!(parse(serde_json::json!({})).unwrap().eos_token_ids, [2]);
        assert_eq!(parse(serde_json::json!({"eos_token_id": [3, 4]})).unwrap().eos_token_ids, [3, 4]);
    }
}
