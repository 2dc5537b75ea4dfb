//! Models that come by name: OpenCompass's names, the repositories of the hub that they stand for, and what it says of
//! each beside. They are read as if the configuration defined them, but only where their name is asked for.

use super::data_sets::Asked;
use crate::opencompass::is_asked;
use crate::report::check::Check;
use crate::syntax::parse::parse;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use include_dir::{Dir, include_dir};
use serde::Serialize;
use std::path::Path;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/models");

/// A model that comes by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelPreset {
    /// OpenCompass's name of its configuration.
    pub name: String,
    /// The column of the table.
    pub abbr: String,
    /// The repository on the Hugging Face hub.
    pub path: String,
    /// Set if prompts go through its chat template.
    pub chat: bool,
}

/// Every model that comes by name, by name.
pub fn model_presets() -> Vec<ModelPreset> {
    let text = |table: &Table, key| table.text(key).unwrap_or_default().to_owned();
    let mut all: Vec<ModelPreset> = tables(&mut Check::default())
        .iter()
        .filter_map(Node::table)
        .map(|table| ModelPreset {
            name: text(table, "name"),
            abbr: text(table, "abbr"),
            path: text(table, "path"),
            chat: matches!(table.get("chat").map(|node| &node.value), Some(Value::Boolean(true))),
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Adds to `root` the model of every name that `flag`, or else `root`'s own `models`, gives and that `root` does not
/// define itself.
pub(crate) fn resolve(check: &mut Check, root: &mut Table, flag: Option<&[String]>) -> Asked {
    let defined: Vec<String> = root
        .get("model")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|node| Some(node.table()?.text("abbr")?.to_owned()))
        .collect();
    let written = root.get("models").map(Node::items).unwrap_or_default();
    let written = written.iter().filter_map(|node| Some(node.text()?.to_owned()));
    let names: Vec<String> = flag.filter(|names| !names.is_empty()).map_or(written.collect(), <[String]>::to_vec);
    let mut asked = Asked::new();
    let wanted: Vec<&String> = names.iter().filter(|name| !defined.contains(name)).collect();
    if wanted.is_empty() {
        return asked;
    }
    for mut node in tables(check) {
        let Value::Table(table) = &mut node.value else { continue };
        let (Some(name), Some(abbr)) = (table.text("name").map(str::to_owned), table.text("abbr").map(str::to_owned))
        else {
            continue;
        };
        if !wanted.contains(&&name) {
            continue;
        }
        table.remove("name");
        let defined = root.get("model").map(Node::items).unwrap_or_default();
        let is_there = is_asked(check, "model", &name, &node, defined, &asked);
        asked.insert(name, vec![abbr]);
        if !is_there {
            push(root, node);
        }
    }
    asked
}

fn push(root: &mut Table, node: Node) {
    match root.get_mut("model") {
        Some(Node { value: Value::Array(items), .. }) => items.push(node),
        _ => {
            let span = node.span;
            let node = Node { value: Value::Array(vec![node]), span };
            root.remove("model");
            root.entries.push(KeyValue { key: "model".into(), key_span: span, node });
        }
    }
}

fn tables(check: &mut Check) -> Vec<Node> {
    let mut all = Vec::new();
    for file in FILES.files() {
        let Some(text) = file.contents_utf8() else { continue };
        let shown = Path::new("models").join(file.path());
        let id = check.sources.add_shipped(&shown, text.to_owned());
        if let Some(Node { value: Value::Array(items), .. }) =
            parse(check, id).and_then(|mut table| table.remove("model"))
        {
            all.extend(items);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_a_name_and_a_repository_of_its_own() {
        let all = model_presets();
        assert!(all.len() > 100, "{}", all.len());
        for pair in all.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} is there twice", pair[1].name);
        }
        for model in &all {
            assert!(model.path.split('/').count() == 2 && !model.abbr.is_empty(), "{model:?}");
        }
        let named = |name| all.iter().find(|model| model.name == name).unwrap();
        assert_eq!(named("hf_llama2_7b").path, "meta-llama/Llama-2-7b-hf");
        assert!(named("hf_qwen2_5_7b_instruct").chat && !named("hf_internlm2_7b").chat);
    }
}
