//! Low-rank adapters of `peft`, merged into the weights when these are loaded, as `merge_and_unload` does.
//!
//! LoRA (Hu et al. 2021): `W + s·BA` with `s = alpha / r`, or `alpha / √r` (rank-stabilised, Kalajdzievski 2023). DoRA (Liu et al.
//! 2024): rows of that sum, scaled to the learnt magnitudes. Tensors that were trained whole (`modules_to_save`, biases) replace the
//! model's own. Products are computed in float32 and rounded once to the model's kind.

use super::MappedFile;
use crate::config::read_json;
use crate::fault::{device_fault, file_fault, missing_fault};
use compass_plan::engine::EngineFault;
use compass_plan::weights::adapter::{CONFIG, weights_of};
use fancy_regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tch::{Kind, Tensor};

/// Prefix that `peft` puts before the names of the model's tensors.
const PREFIX: &str = "base_model.model.";

/// An adapter that was opened.
pub(super) struct Adapter {
    file: MappedFile,
    config: PathBuf,
    settings: Settings,
    /// Scaling of modules that have their own, by pattern.
    alphas: Vec<(Regex, f64)>,
    /// Its tensors by the name of the model's tensor that they change.
    changes: BTreeMap<String, Change>,
    merged: BTreeSet<String>,
}

/// Names, in the adapter's file, of what changes one tensor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    /// It takes the tensor's place, before anything is added.
    whole: Option<String>,
    a: Option<String>,
    b: Option<String>,
    magnitude: Option<String>,
    /// Set if `a` and `b` are an embedding's, whose product is transposed.
    of_embedding: bool,
}

#[derive(Debug, Deserialize)]
struct Settings {
    peft_type: String,
    lora_alpha: f64,
    #[serde(default)]
    alpha_pattern: Option<BTreeMap<String, f64>>,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    use_dora: bool,
    #[serde(default)]
    fan_in_fan_out: bool,
    #[serde(default)]
    init_lora_weights: Value,
}

/// Settings that change more than the weights named by the adapter's file.
const UNSERVED: [&str; 7] = [
    "layer_replication",
    "lora_bias",
    "megatron_config",
    "target_parameters",
    "trainable_token_indices",
    "use_qalora",
    "arrow_config",
];

/// Initialisations that change the model's own weights.
const CHANGES_BASE: [&str; 4] = ["pissa", "olora", "corda", "loftq"];

impl Adapter {
    /// Opens the adapter in `directory`.
    ///
    /// # Errors
    /// [`EngineFault::Missing`] if a file is missing, [`EngineFault::Model`] if one is damaged, or is of a kind that is not merged.
    pub(super) fn open(directory: &Path) -> Result<Self, EngineFault> {
        let config = directory.join(CONFIG);
        let missing = || missing_fault(&config, "no such file: `peft_path` names a directory that `peft` saved");
        let written: Map<String, Value> = read_json(&config)?.ok_or_else(missing)?;
        let settings = serde_json::from_value(Value::Object(written.clone()));
        let settings: Settings = settings.map_err(|error| file_fault(&config, error.to_string()))?;
        if settings.peft_type != "LORA" {
            let what = format!(
                "adapters of type {} are not merged, only LORA: merge it with peft and save the model",
                settings.peft_type
            );
            return Err(file_fault(&config, what));
        }
        let is_set = |name: &&&str| written.get(**name).is_some_and(is_given);
        if let Some(name) = UNSERVED.iter().find(is_set) {
            return Err(file_fault(
                &config,
                format!("`{name}` is not supported: merge it with peft and save the model"),
            ));
        }
        let init = settings.init_lora_weights.as_str().unwrap_or_default();
        if CHANGES_BASE.iter().any(|known| init.starts_with(known)) {
            let what = format!(
                "`init_lora_weights = \"{init}\"` changes the model's own weights: save the adapter as plain LoRA with peft \
                 (`path_initial_model_for_weight_conversion`)"
            );
            return Err(file_fault(&config, what));
        }
        let path = weights_of(directory).ok_or_else(|| {
            missing_fault(&directory.join("adapter_model.safetensors"), "no such file: the adapter has no weights")
        })?;
        let file = MappedFile::open(&path)?;
        let changes = changes(&file)?;
        let alphas = settings.alpha_pattern.iter().flatten().map(|(pattern, alpha)| {
            let compiled = Regex::new(&format!(r"\A(?:.*\.)?(?:{pattern})\z"));
            compiled
                .map(|compiled| (compiled, *alpha))
                .map_err(|error| file_fault(&config, format!("`alpha_pattern`: {error}")))
        });
        let alphas = alphas.collect::<Result<_, _>>()?;
        Ok(Self { file, config, settings, alphas, changes, merged: BTreeSet::new() })
    }

    /// Returns `tensor`, the model's `name`, with the adapter merged; as it is if the adapter does not change it.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if shapes do not fit, [`EngineFault::Device`] if libtorch fails.
    pub(super) fn merge(&mut self, name: &str, tensor: Tensor) -> Result<Tensor, EngineFault> {
        let Some(change) = self.changes.get(name) else { return Ok(tensor) };
        let merged = self.merged_with(name, change, &tensor)?;
        if merged.size() != tensor.size() {
            let what = format!(
                "it makes tensor `{name}` {:?} of {:?}; adapter and model do not match",
                merged.size(),
                tensor.size()
            );
            return Err(file_fault(self.file.path(), what));
        }
        self.merged.insert(name.to_owned());
        Ok(merged)
    }

    /// Returns whether it adds a product of low rank to the model's `name`.
    pub(super) fn adds_to(&self, name: &str) -> bool {
        self.changes.get(name).is_some_and(|change| change.a.is_some())
    }

    fn merged_with(&self, name: &str, change: &Change, tensor: &Tensor) -> Result<Tensor, EngineFault> {
        let (kind, device) = (tensor.kind(), tensor.device());
        // An embedding may be stored whole beside the product that is added to it.
        let own = change.whole.as_ref().map(|whole| self.file.tensor(whole, kind, device)).transpose()?;
        if change.a.is_none() && change.b.is_none() {
            return Ok(own.unwrap_or_else(|| tensor.shallow_clone()));
        }
        let tensor = own.as_ref().unwrap_or(tensor);
        let part = |part: &Option<String>, what: &str| match part {
            Some(name) => self.file.tensor(name, Kind::Float, device),
            None => Err(file_fault(self.file.path(), format!("it has no {what} of `{name}`"))),
        };
        let (a, b) = (part(&change.a, "lora_A")?, part(&change.b, "lora_B")?);
        if change.of_embedding && self.settings.use_dora {
            return Err(file_fault(
                &self.config,
                "DoRA of embeddings is not supported: merge it with peft and save the model",
            ));
        }
        let ranks = (a.size().first().copied(), b.size().get(1).copied());
        let (Some(rank), true) = (ranks.0, ranks.0 == ranks.1) else {
            let what = format!("lora_A {:?} and lora_B {:?} of `{name}` have different ranks", a.size(), b.size());
            return Err(file_fault(self.file.path(), what));
        };
        let scale = self.scale(name, rank as f64);
        let is_turned = self.settings.fan_in_fan_out || change.of_embedding;
        let fits = {
            let (rows, columns) = (b.size().first().copied(), a.size().get(1).copied());
            let size = tensor.size();
            let (first, second) = (size.first().copied(), size.get(1).copied());
            size.len() == 2
                && if is_turned { (rows, columns) == (second, first) } else { (rows, columns) == (first, second) }
        };
        if !fits {
            let what = format!(
                "lora_B {:?} times lora_A {:?} does not fit tensor `{name}` {:?}; adapter and model do not match",
                b.size(),
                a.size(),
                tensor.size()
            );
            return Err(file_fault(self.file.path(), what));
        }
        let merged = || {
            let mut delta = b.f_matmul(&a)?;
            if is_turned {
                delta = delta.f_transpose(0, 1)?;
            }
            tensor.f_to_kind(Kind::Float)?.f_add(&delta.f_mul_scalar(scale)?)
        };
        let merged = merged().map_err(|error| device_fault(&error))?;
        let merged = match (self.settings.use_dora, &change.magnitude) {
            (false, _) => merged,
            (true, None) => {
                return Err(file_fault(
                    self.file.path(),
                    format!("it has no magnitudes of `{name}`, and use_dora is true"),
                ));
            }
            (true, Some(magnitude)) => {
                let magnitude = self.file.tensor(magnitude, Kind::Float, device)?;
                // Rows of the layer, which are columns where it is stored turned.
                let dimension: i64 = if is_turned { 0 } else { 1 };
                let scaled = || {
                    let norms =
                        merged.f_square()?.f_sum_dim_intlist([dimension].as_slice(), true, None::<Kind>)?.f_sqrt()?;
                    merged.f_mul(&magnitude.f_reshape(norms.size())?.f_div(&norms)?)
                };
                scaled().map_err(|error| device_fault(&error))?
            }
        };
        merged.f_to_kind(kind).map_err(|error| device_fault(&error))
    }

    fn scale(&self, name: &str, rank: f64) -> f64 {
        let module = name.strip_suffix(".weight").unwrap_or(name);
        let own = self.alphas.iter().find(|(pattern, _)| pattern.is_match(module).unwrap_or(false));
        let alpha = own.map_or(self.settings.lora_alpha, |(_, alpha)| *alpha);
        alpha / if self.settings.use_rslora { rank.sqrt() } else { rank }
    }

    /// Returns the mapped file, to be kept as long as the tensors, once everything was merged.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if the model lacks a tensor that the adapter changes.
    pub(super) fn finish(self) -> Result<MappedFile, EngineFault> {
        let left: Vec<&String> = self.changes.keys().filter(|name| !self.merged.contains(*name)).collect();
        let Some(first) = left.first() else { return Ok(self.file) };
        let more = if left.len() > 1 { format!(" and {} more", left.len() - 1) } else { String::new() };
        let what = format!("it changes `{first}`{more}, which the model does not load; adapter and model do not match");
        Err(file_fault(&self.config, what))
    }
}

/// Returns whether a setting is more than absent.
fn is_given(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
    }
}

/// Returns the changes by the tensors of `file`.
fn changes(file: &MappedFile) -> Result<BTreeMap<String, Change>, EngineFault> {
    let mut changes: BTreeMap<String, Change> = BTreeMap::new();
    for stored in file.names() {
        let Some(name) = stored.strip_prefix(PREFIX) else {
            return Err(file_fault(file.path(), format!("tensor `{stored}` is not a part of an adapter of `peft`")));
        };
        let stored = stored.to_owned();
        let slot = |module: &str| format!("{module}.weight");
        if let Some(module) = name.strip_suffix(".lora_A.weight") {
            changes.entry(slot(module)).or_default().a = Some(stored);
        } else if let Some(module) = name.strip_suffix(".lora_B.weight") {
            changes.entry(slot(module)).or_default().b = Some(stored);
        } else if let Some(module) = name.strip_suffix(".lora_embedding_A") {
            let change = changes.entry(slot(module)).or_default();
            (change.a, change.of_embedding) = (Some(stored), true);
        } else if let Some(module) = name.strip_suffix(".lora_embedding_B") {
            let change = changes.entry(slot(module)).or_default();
            (change.b, change.of_embedding) = (Some(stored), true);
        } else if let Some((module, _)) = name.split_once(".lora_magnitude_vector") {
            changes.entry(slot(module)).or_default().magnitude = Some(stored);
        } else if name.contains("lora_") {
            return Err(file_fault(
                file.path(),
                format!("tensor `{stored}` is of a kind of adapter that is not merged"),
            ));
        } else {
            let name = name.replace(".base_layer.", ".").replace(".modules_to_save.", ".");
            changes.entry(name).or_default().whole = Some(stored);
        }
    }
    Ok(changes)
}
