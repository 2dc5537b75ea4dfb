//! Golden files and shared data.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns the path of a golden file.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokenizer/goldens").join(name)
}

/// Reads a golden JSON document.
pub(crate) fn golden_json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

pub(crate) use compass_needs::shared;

/// Returns the ids of a golden case.
pub(crate) fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// Initial state of FNV-1a.
pub(crate) const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over 32-bit little-endian words, as computed by the goldens' scripts.
pub(crate) fn fnv(state: u64, number: u32) -> u64 {
    let add = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    number.to_le_bytes().into_iter().fold(state, add)
}
