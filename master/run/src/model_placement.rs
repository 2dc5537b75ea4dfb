//! Pools in which models load, as their configuration and the pools' say. No part of what they compute.

use compass_settings::{ModelConfig, PoolConfig};
use compass_storage::Location;
use compass_types::ids::ModelId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Part of a model's configuration that says where it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPlacement {
    /// Its name in tables; empty in what an earlier version kept.
    #[serde(default)]
    pub abbr: String,
    /// Names or labels of pools; empty for any.
    pub pools: Vec<String>,
    /// Its files; empty where it has none.
    pub path: PathBuf,
    pub tokenizer_path: PathBuf,
    #[serde(default)]
    pub peft_path: PathBuf,
}

impl From<&ModelConfig> for ModelPlacement {
    fn from(model: &ModelConfig) -> Self {
        let ModelConfig { abbr, pools, path, tokenizer_path, peft_path, .. } = model;
        Self {
            abbr: abbr.clone(),
            pools: pools.clone(),
            path: path.clone(),
            tokenizer_path: tokenizer_path.clone(),
            peft_path: peft_path.clone().unwrap_or_default(),
        }
    }
}

impl ModelPlacement {
    /// Returns whether it may run in a pool: it may name its pools, and files that are not here must have a name there.
    pub fn loads_in(&self, pool: &PoolConfig) -> bool {
        let is_found = |path: &Path| {
            let text = path.display().to_string();
            // A worker fetches what is in an object store or on the hub.
            path.as_os_str().is_empty() || path.exists() || Location::is_one(&text) || pool.map_path(&text).is_some()
        };
        pool.takes(&self.pools)
            && [&self.path, &self.tokenizer_path, &self.peft_path].into_iter().all(|path| is_found(path))
    }
}

/// The pools where a model loads, by its position, for those that do not load everywhere.
pub(super) fn where_they_load(pools: &[PoolConfig], models: &[ModelPlacement]) -> BTreeMap<ModelId, BTreeSet<String>> {
    // A model that names its pools is not for workers of none either.
    let everywhere = |model: &ModelPlacement| model.pools.is_empty() && pools.iter().all(|pool| model.loads_in(pool));
    let bound = (0..).map(ModelId).zip(models).filter(|(_, model)| !pools.is_empty() && !everywhere(model));
    let names = |model: &ModelPlacement| -> BTreeSet<String> {
        pools.iter().filter(|pool| model.loads_in(pool)).map(|pool| pool.name.clone()).collect()
    };
    bound.map(|(at, model)| (at, names(model))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_loads_where_it_is_wanted_and_its_files_are() {
        let pool = |name: &str, paths: &[(&str, &str)]| PoolConfig {
            name: name.into(),
            labels: vec![format!("label of {name}")],
            paths: paths.iter().map(|(from, to)| ((*from).into(), (*to).into())).collect(),
            ..PoolConfig::default()
        };
        let pools = [pool("s", &[]), pool("aliyun", &[("/nowhere/", "/cpfs/")])];
        let model = |pools: &[&str], path: &str| ModelPlacement {
            abbr: "m".into(),
            pools: pools.iter().map(|name| (*name).to_owned()).collect(),
            path: path.into(),
            tokenizer_path: path.into(),
            peft_path: PathBuf::new(),
        };
        let models = [
            model(&[], ""),
            model(&["label of s"], ""),
            model(&[], "/nowhere/weights"),
            model(&["s"], "/nowhere/weights"),
            model(&["s", "aliyun"], ""),
        ];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let found = where_they_load(&pools, &models);
        let expected = [(1, names(&["s"])), (2, names(&["aliyun"])), (3, names(&[])), (4, names(&["s", "aliyun"]))];
        assert_eq!(found, expected.map(|(at, names)| (ModelId(at), names)).into());
        assert_eq!(where_they_load(&[], &models), BTreeMap::new(), "without pools every worker is as good");
    }
}
