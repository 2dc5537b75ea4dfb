//! The identity of what a configuration computes.

use super::run::{Config, DatasetConfig, ModelConfig};
use compass_types::ids::Digest;
use serde::Serialize;
use std::collections::BTreeSet;

/// Bumped when the meaning of a field changes without its name.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Computed<'c> {
    format: u32,
    models: &'c [ModelConfig],
    datasets: &'c [DatasetConfig],
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    not_combined: &'c BTreeSet<(String, String)>,
}

/// The digest over everything in `config` that can change a number: models and data sets, their paths included, and which of them are paired. Work
/// and state folders, runners, partitioners and addresses are not in it.
pub fn digest(config: &Config) -> Digest {
    let computed = Computed {
        format: FORMAT,
        models: &config.models,
        datasets: &config.datasets,
        not_combined: &config.not_combined,
    };
    match serde_json::to_vec(&computed) {
        Ok(bytes) => Digest::of(&bytes),
        // JSON refuses a path that is not UTF-8; its debug form names it just as well.
        Err(_) => Digest::of(
            format!("{FORMAT} {:?} {:?} {:?}", computed.models, computed.datasets, computed.not_combined).as_bytes(),
        ),
    }
}
