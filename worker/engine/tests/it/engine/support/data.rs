//! Reference data beside the checkout; a test without it reports so and is skipped.

use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) use compass_needs::shared;

/// Reads a golden document of this test.
pub(crate) fn golden(name: &str) -> Value {
    read_json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/goldens").join(name))
}

/// Returns the demo's model in the repository.
pub(crate) fn demo_model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model")
}

/// Returns a text field.
#[track_caller]
pub(crate) fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

/// Returns a field with a list of texts.
#[track_caller]
pub(crate) fn texts<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    row[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Reads a JSON file.
pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Reads the documents of a JSON lines file.
pub(crate) fn read_jsonl(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
