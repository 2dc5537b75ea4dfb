//! Presets: data sets that ship with the program, under OpenCompass's names.
//!
//! A preset is read as if its file were included, but only where its name is asked for. Paths in it are relative to the
//! data folder.

use super::families::{self, abbrs};
use super::loaders;
use crate::opencompass::is_asked;
use crate::passes::for_each;
use crate::read::datasets::version;
use crate::report::check::Check;
use crate::syntax::merge::merge_files;
use crate::syntax::source::Preset;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use std::collections::BTreeMap;

/// Presets that a configuration asked for: by the name asked for, the abbrs of the data sets that it defines.
pub(crate) type Asked = BTreeMap<String, Vec<String>>;

/// Every preset, by name.
pub fn presets() -> Vec<Preset> {
    families::presets().collect()
}

/// Puts below `root` the data sets of every preset (or the one of `preset/abbr`) that `flag`, or else `root`'s own `datasets`, names and that `root`
/// does not define itself.
pub(crate) fn resolve(check: &mut Check, root: &mut Table, flag: Option<&[String]>) -> Asked {
    let defined: Vec<String> = abbrs(root);
    let mut asked = Asked::new();
    let written = root.get("datasets").map(Node::items).unwrap_or_default();
    let written = written.iter().filter_map(|node| Some(node.text()?.to_owned()));
    let names: Vec<String> = flag.filter(|names| !names.is_empty()).map_or(written.collect(), <[String]>::to_vec);
    // What presets say of data sets that are asked for, before anything lies over it.
    let mut plain: Vec<Node> = Vec::new();
    for name in names.iter().filter(|name| !defined.contains(name)) {
        if asked.contains_key(name) {
            continue;
        }
        // `mmlu_ppl/lukaemon_mmlu_virology` is one data set of a preset.
        let (preset, one) = name.split_once('/').map_or((name.as_str(), None), |(preset, one)| (preset, Some(one)));
        let Some((_, mut table)) = find(check, preset) else { continue };
        let chosen: Vec<String> = abbrs(&table).into_iter().filter(|abbr| one.is_none_or(|one| one == abbr)).collect();
        if chosen.is_empty() {
            continue;
        }
        if let Some(Node { value: Value::Array(items), .. }) = table.get_mut("dataset") {
            let is_chosen = |item: &Node| {
                item.table()
                    .and_then(|table| table.text("abbr"))
                    .is_some_and(|abbr| chosen.iter().any(|one| one == abbr))
            };
            items.retain(|item| !is_chosen(item) || !is_asked(check, "dataset", name, item, &plain, &asked));
            plain.extend(items.iter().filter(|item| is_chosen(item)).cloned());
        }
        asked.insert(name.clone(), chosen);
        *root = merge_files(table, std::mem::take(root));
    }
    asked
}

/// The data sets of the preset (or the one of `preset/abbr`) that `name` asks for; empty where none answers to it.
pub(crate) fn tables(check: &mut Check, name: &str) -> Vec<Node> {
    let (preset, one) = name.split_once('/').map_or((name, None), |(preset, one)| (preset, Some(one)));
    let Some((_, table)) = find(check, preset) else { return Vec::new() };
    let all = table.get("dataset").map(Node::items).unwrap_or_default();
    let is_asked = |node: &&Node| {
        let abbr = node.table().and_then(|table| table.text("abbr"));
        one.is_none_or(|one| abbr == Some(one))
    };
    all.iter().filter(is_asked).cloned().collect()
}

/// Names that a preset answers to, for suggestions.
pub(crate) fn names() -> Vec<String> {
    presets().into_iter().flat_map(|preset| std::iter::once(preset.name).chain(preset.aliases)).collect()
}

/// The preset that answers to a name.
pub(crate) fn preset(name: &str) -> Option<Preset> {
    let answers = |preset: &Preset| preset.name == name || preset.aliases.iter().any(|alias| alias == name);
    families::presets().find(answers)
}

fn find(check: &mut Check, name: &str) -> Option<(Preset, Table)> {
    let preset = preset(name)?;
    let node = families::written(check, &preset)?;
    let mut table = Table { entries: vec![KeyValue { key: "dataset".to_owned(), key_span: node.span, node }] };
    for_each::expand(check, &mut table);
    if let Some(Node { value: Value::Array(items), .. }) = table.get_mut("dataset") {
        for item in items {
            let Value::Table(dataset) = &mut item.value else { continue };
            loaders::put_splits(dataset, item.span);
            families::write_labels(dataset);
        }
    }
    version::mark(&preset.name, &mut table);
    Some((preset, table))
}
