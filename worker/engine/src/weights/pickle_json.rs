//! Reads plain values written by `torch.save`, for example InternLM's `model_config.pt`, as JSON.

use super::file::map;
use super::pickled::{Name, Value};
use super::torch_file;
use crate::fault::{file_fault, missing_fault};
use compass_plan::engine::EngineFault;
use serde_json::{Map, Number, Value as Json};
use std::path::Path;

/// Reads a file of this kind. Values without a JSON form (tensors, storages) become `null`; a dtype becomes `"torch.bfloat16"`.
///
/// # Errors
/// [`EngineFault::Missing`] if it does not exist, [`EngineFault::Model`] if it is damaged or asks to execute something.
pub(crate) fn read_pickled_json(path: &Path) -> Result<Json, EngineFault> {
    if !path.exists() {
        return Err(missing_fault(path, "no such file"));
    }
    let value = torch_file::object(&map(path)?).map_err(|what| file_fault(path, what))?;
    Ok(json(value))
}

fn json(value: Value) -> Json {
    match value {
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => Json::Number(value.into()),
        Value::Float(value) => Number::from_f64(value).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(text),
        Value::Sequence(items) => Json::Array(items.into_iter().map(json).collect()),
        Value::Pairs(pairs) => {
            let named = pairs.into_iter().filter_map(|(key, value)| match key {
                Value::Text(key) => Some((key, json(value))),
                _ => None,
            });
            Json::Object(named.collect::<Map<String, Json>>())
        }
        Value::Name(Name::Dtype(name)) => Json::String(format!("torch.{name}")),
        Value::None | Value::Name(_) | Value::Storage(_) | Value::Tensor(_) => Json::Null,
    }
}
