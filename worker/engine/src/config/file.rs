//! Reads config.json and generation_config.json: architecture, end tokens, and the keys of a family.

use super::{culprit, renamed, sizes};
use crate::fault::{file_fault, missing_fault};
use crate::weights::read_pickled_json;
use compass_common::regular_file;
use compass_plan::ModelKind;
use compass_plan::architecture::read_config;
use compass_plan::engine::EngineFault;
use compass_plan::weights::Fp8;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Keys common to all families, and all of config.json for a family's own keys.
#[derive(Clone, Debug)]
pub(crate) struct ModelConfig {
    path: PathBuf,
    keys: Value,
    /// As listed in config.json; usually one.
    pub(crate) architectures: Vec<String>,
    pub(crate) model_type: Option<String>,
    /// Absent if not in config.json.
    pub(crate) max_position_embeddings: Option<u32>,
    pub(crate) bos_token_id: Option<u32>,
    /// From config.json and generation_config.json together.
    pub(crate) eos_token_ids: Vec<u32>,
    /// Scaling of weights that are stored in eight bits.
    pub(crate) fp8: Option<Fp8>,
}

#[derive(Deserialize)]
struct RawConfig {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    max_position_embeddings: Option<u32>,
    /// GPT-2's name.
    n_positions: Option<u32>,
    quantization_config: Option<Value>,
    bos_token_id: Option<Value>,
    eos_token_id: Option<Value>,
    text_config: Option<RawTextConfig>,
}

/// The text half of a model that has others.
#[derive(Deserialize)]
struct RawTextConfig {
    model_type: Option<String>,
    max_position_embeddings: Option<u32>,
}

#[derive(Deserialize)]
struct RawGenerationConfig {
    eos_token_id: Option<Value>,
}

/// Reads one id or a list of ids: both occur in practice.
fn token_ids(value: Option<Value>, key: &str) -> Result<Vec<u32>, String> {
    let ids = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(ids)) => ids,
        Some(one) => vec![one],
    };
    let read = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    ids.iter().map(|id| read(id).ok_or_else(|| format!("`{key}` has {id}, which is not a token id"))).collect()
}

/// Reads a JSON file; `None` if it does not exist.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EngineFault> {
    match regular_file::read(path, regular_file::SMALL) {
        Ok(bytes) => read_config(&bytes)
            .and_then(serde_json::from_value)
            .map(Some)
            .map_err(|error| file_fault(path, format!("invalid: {error}; download the file again, or correct it"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(missing_fault(path, error)),
    }
}

impl ModelConfig {
    /// Returns the configuration file of a directory of this kind.
    pub(crate) fn file_of(layout: ModelKind) -> &'static str {
        match layout {
            ModelKind::Hf | ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => "config.json",
            ModelKind::Llama => "params.json",
            ModelKind::InternLm => "model_config.pt",
        }
    }

    /// Reads the configuration of the model in `directory`: its two files in Hugging Face's layout, of which
    /// generation_config.json may be missing, or the file of another layout.
    ///
    /// # Errors
    /// [`EngineFault::Missing`] if the file is missing, [`EngineFault::Model`] if it is malformed or names quantised weights.
    pub(crate) fn read(directory: &Path, layout: ModelKind) -> Result<Self, EngineFault> {
        let path = directory.join(Self::file_of(layout));
        match layout {
            ModelKind::Hf | ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => {}
            ModelKind::Llama => {
                let what = "no such file: `path` must name a directory as Meta distributes it";
                let keys = read_json(&path)?.ok_or_else(|| missing_fault(&path, what))?;
                return Self::from_json(path, keys);
            }
            ModelKind::InternLm => {
                let keys = read_pickled_json(&path)?;
                return Self::from_json(path, keys);
            }
        }
        let keys: Value = read_json(&path)?
            .ok_or_else(|| missing_fault(&path, "no such file: `path` must name a Hugging Face model directory"))?;
        let mut config = Self::from_json(path, keys)?;
        let path = directory.join("generation_config.json");
        let generation: Option<RawGenerationConfig> = read_json(&path)?;
        let more = generation.and_then(|generation| generation.eos_token_id);
        config.eos_token_ids.extend(token_ids(more, "eos_token_id").map_err(|what| file_fault(&path, what))?);
        Ok(config)
    }

    /// Reads the common keys of `keys`, the content of `path`.
    ///
    /// # Errors
    /// As [`ModelConfig::read`].
    pub(crate) fn from_json(path: PathBuf, mut keys: Value) -> Result<Self, EngineFault> {
        let raw: RawConfig = culprit::read(&keys).map_err(|what| file_fault(&path, what))?;
        let fp8 =
            raw.quantization_config.as_ref().map(Fp8::read).transpose().map_err(|what| file_fault(&path, what))?;
        sizes::check(&keys).map_err(|what| file_fault(&path, what))?;
        renamed::with_known_names(&mut keys);
        let positions_of_text = raw.text_config.map(|text| match text.model_type.as_deref() {
            // The published files leave out what has the default value.
            Some("gemma3_text") => text.max_position_embeddings.or(Some(131_072)),
            _ => text.max_position_embeddings,
        });
        let positions_of_text = positions_of_text.flatten();
        let bos = token_ids(raw.bos_token_id, "bos_token_id").map_err(|what| file_fault(&path, what))?;
        let eos_token_ids = token_ids(raw.eos_token_id, "eos_token_id").map_err(|what| file_fault(&path, what))?;
        Ok(Self {
            path,
            keys,
            architectures: raw.architectures.unwrap_or_default(),
            model_type: raw.model_type,
            max_position_embeddings: raw.max_position_embeddings.or(raw.n_positions).or(positions_of_text),
            bos_token_id: bos.first().copied(),
            eos_token_ids,
            fp8,
        })
    }

    /// Reads the keys of a family, the fields of `T`.
    ///
    /// # Errors
    /// [`EngineFault::Model`] with the missing or invalid key.
    pub(crate) fn keys<T: DeserializeOwned>(&self) -> Result<T, EngineFault> {
        culprit::read(&self.keys).map_err(|what| self.fault(what))
    }

    /// Returns the configuration of a part of the model, the object `key`, with the values of `defaults` for keys that it lacks.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if the object is missing or malformed.
    pub(crate) fn inner(&self, key: &str, defaults: Value) -> Result<Self, EngineFault> {
        let (Some(Value::Object(inner)), Value::Object(mut keys)) = (self.keys.get(key), defaults) else {
            return Err(self.fault(format!("`{key}` is missing")));
        };
        keys.extend(inner.clone());
        Self::from_json(self.path.clone(), Value::Object(keys))
    }

    /// Returns an error about config.json.
    pub(crate) fn fault(&self, what: impl std::fmt::Display) -> EngineFault {
        file_fault(&self.path, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_one_or_a_list() {
        let eos = |keys: Value| ModelConfig::from_json("config.json".into(), keys).map(|config| config.eos_token_ids);
        assert_eq!(eos(json!({"eos_token_id": 2})).unwrap(), [2]);
        assert_eq!(eos(json!({"eos_token_id": [3, 4]})).unwrap(), [3, 4]);
        assert!(eos(json!({"eos_token_id": null})).unwrap().is_empty());
        assert!(eos(json!({"eos_token_id": "x"})).unwrap_err().to_string().contains("`eos_token_id`"));
    }

    #[test]
    fn quantised_weights_are_refused_with_the_file_that_names_them() {
        let keys = json!({"quantization_config": {"quant_method": "gptq", "bits": 4}});
        let message = ModelConfig::from_json("config.json".into(), keys).unwrap_err().to_string();
        assert!(message.contains("config.json: GPTQ weights (quantization_config) are not supported"), "{message}");
        let keys = json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}});
        let config = ModelConfig::from_json("config.json".into(), keys).unwrap();
        assert_eq!(config.fp8, Some(Fp8 { block: Some((128, 128)) }));
        let keys = json!({"quantization_config": null});
        assert_eq!(ModelConfig::from_json("config.json".into(), keys).unwrap().fp8, None);
    }
}
