//! The tables of every preset, and the splits of every loader class that is known, are those whose digests the golden file holds.
//!
//! `COMPASS_WRITE=1` writes the file again: to be done where a preset or a class is meant to change, and never to pass.

use crate::presets::data_sets::{presets, tables};
use crate::presets::loaders::known_splits;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_types::ids::Digest;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Tables whose keys have an order: columns are made, lists opened and labels asked one after the other.
const ORDERED: [&str; 4] = ["columns", "each", "prompt_template", "ice_template"];

/// A value as JSON, keys without an order by name.
fn canonical(key: &str, node: &Node) -> Json {
    match &node.value {
        Value::Table(table) => {
            let mut entries: Vec<(String, Json)> =
                table.entries.iter().map(|entry| (entry.key.clone(), canonical(&entry.key, &entry.node))).collect();
            if !ORDERED.contains(&key) {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
            }
            entries.into_iter().collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| canonical("", item)).collect(),
        _ => crate::syntax::tree::json(node),
    }
}

fn digest(value: &Json) -> Json {
    Digest::of(value.to_string().as_bytes()).short().into()
}

fn preset_digests() -> Map<String, Json> {
    let digest_of = |preset: crate::Preset| {
        let mut check = Check::default();
        let datasets: Vec<Json> =
            tables(&mut check, &preset.name).iter().map(|table| canonical("dataset", table)).collect();
        assert!(!check.has_errors() && !datasets.is_empty(), "{}", preset.name);
        let whole = json!([preset.aliases, preset.about, preset.source, datasets]);
        (preset.name, digest(&whole))
    };
    presets().into_iter().map(digest_of).collect()
}

fn loader_digests() -> Map<String, Json> {
    let mut by_class: BTreeMap<String, BTreeMap<String, Json>> = BTreeMap::new();
    for (class, parameters, known) in known_splits() {
        let split = known.dataset_postprocessor.map(|entry| canonical("", &entry.node));
        by_class.entry(class).or_default().insert(parameters, json!([canonical("test", &known.source), split]));
    }
    by_class.into_iter().map(|(class, splits)| (class, digest(&json!(splits)))).collect()
}

#[test]
fn presets_and_loader_classes_are_those_of_the_golden_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/presets.json");
    let found = json!({ "presets": preset_digests(), "loaders": loader_digests() });
    if std::env::var_os("COMPASS_WRITE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let golden: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for kind in ["presets", "loaders"] {
        let (golden, found) = (golden[kind].as_object().unwrap(), found[kind].as_object().unwrap());
        let names: Vec<&String> = golden.keys().chain(found.keys()).collect();
        let mut other: Vec<&String> = names.into_iter().filter(|name| golden.get(*name) != found.get(*name)).collect();
        other.dedup();
        assert!(other.is_empty(), "{kind} that changed: {other:?}");
    }
}
