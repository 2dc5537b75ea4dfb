//! `datasets`: what is asked is the same here and there; which rows are asked, the loader class says.

use super::loaders::{Loaders, Rows};
use super::tree::{self, Places};
use super::{array, class};
use crate::check::Check;
use crate::source::Span;
use crate::tree::{KeyValue, Node, Table, Value};
use compass_python::{Node as PythonNode, Plain};
use std::collections::BTreeMap;

/// Keys of an entry that are not the loader's.
const OWN: &[&str] = &["abbr", "type", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "mode"];
/// Keys of a data set that is written as TOML has it: of a preset.
const NATIVE: &[&str] = &["test", "train"];

/// `[[dataset]]` of every entry of `datasets`. Classes that cannot be read are reported together, each once.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    if !matches!(node.value, Plain::List(_) | Plain::Tuple(_)) {
        check.error(span, "`datasets` is not a list".into(), Some("write `datasets = [...]`".into()));
        return None;
    }
    let loaders = Loaders::read(check);
    let mut refused = BTreeMap::new();
    let mut tables = Vec::new();
    for entry in node.items() {
        tables.extend(dataset(check, places, &loaders, entry, &mut refused));
    }
    for (name, (span, reason, count)) in refused {
        let times = if count > 1 { format!(" ({count} data sets)") } else { String::new() };
        let help =
            "leave these data sets out, or write their rows as TOML: [dataset.test] names a file and its columns";
        check.error(span, format!("`{name}` cannot be read here{times}: {reason}"), Some(help.into()));
    }
    Some(array(tables, span))
}

fn dataset(
    check: &mut Check,
    places: &Places,
    loaders: &Loaders,
    entry: &PythonNode,
    refused: &mut BTreeMap<String, (Span, String, u32)>,
) -> Option<Node> {
    let span = places.span(entry.place);
    let Plain::Dict(entries) = &entry.value else {
        check.error(span, "an entry of `datasets` is not a dict".into(), Some("write `dict(type=..., ...)`".into()));
        return None;
    };
    let mut table = tree::table(check, places, entries);
    if NATIVE.iter().any(|key| table.get(key).is_some()) {
        return Some(Node { value: Value::Table(table), span });
    }
    let Some(name) = class::of(entry) else {
        check.error(span, "a data set without `type`".into(), Some("name its class: `type=SiqaDataset`".into()));
        return None;
    };
    let parameters: Vec<(&str, &PythonNode)> = entries
        .iter()
        .filter_map(|(key, node)| Some((key.text()?, node)))
        .filter(|(key, node)| !OWN.contains(key) && node.value != Plain::None)
        .collect();
    for (key, _) in &parameters {
        table.remove(key);
    }
    table.remove("type");
    table.remove("mode");
    let wants_shots = wants_shots(entry);
    for (ours, theirs, is_needed) in [("test", "test_split", true), ("train", "train_split", wants_shots)] {
        let split = entry.get("reader_cfg").and_then(|reader| reader.get(theirs)).and_then(PythonNode::text);
        if !is_needed {
            continue;
        }
        let reason = match loaders.rows(name, &parameters, split.unwrap_or(ours)) {
            Rows::Known(known) => {
                let key_span = known.source.span;
                table.entries.push(KeyValue { key: ours.to_owned(), key_span, node: known.source });
                if let Some(range) = known.range {
                    narrow(check, &mut table, &format!("{ours}_range"), range);
                }
                if let Some(gold) = known.dataset_postprocessor
                    && let Some(Node { value: Value::Table(eval), .. }) = table.get_mut("eval_cfg")
                    && eval.get(&gold.key).is_none()
                {
                    eval.entries.push(gold);
                }
                continue;
            }
            Rows::Otherwise(reason) => reason,
            Rows::Unknown => "its loader would have to run".to_owned(),
        };
        let dotted = class::dotted(entry).unwrap_or(name).to_owned();
        let at = entry.get("type").map_or(span, |node| places.span(node.place));
        refused.entry(dotted).or_insert((at, reason, 0)).2 += 1;
        return None;
    }
    if let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg") {
        reader.remove("test_split");
        reader.remove("train_split");
    }
    named(&mut table, &parameters, span);
    Some(Node { value: Value::Table(table), span })
}

/// Puts the rows that a class takes below those that the file asks for: `[10:510]` and then `[:8]`.
fn narrow(check: &mut Check, table: &mut Table, key: &str, range: Node) {
    let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg") else { return };
    let text = range.text().unwrap_or_default().to_owned();
    match reader.get_mut(key) {
        None => {
            let key_span = range.span;
            reader.entries.push(KeyValue { key: key.to_owned(), key_span, node: range });
        }
        Some(Node { value: Value::String(asked), .. }) => *asked = text + asked,
        Some(node) => {
            let message = format!("`{key}` as a number, of a class that takes `{text}` of its file");
            check.error(node.span, message, Some("write a slice: `\"[:100]\"`".into()));
        }
    }
}

/// Whether its retriever shows rows of the train split.
fn wants_shots(entry: &PythonNode) -> bool {
    let retriever = entry.get("infer_cfg").and_then(|infer| infer.get("retriever"));
    retriever.and_then(class::of).is_some_and(|name| name != "ZeroRetriever")
}

/// OpenCompass's name of a data set that has none: the end of its path, and its name.
fn named(table: &mut Table, parameters: &[(&str, &PythonNode)], span: Span) {
    if table.get("abbr").is_some() {
        return;
    }
    let text = |key| parameters.iter().find(|(name, _)| *name == key).and_then(|(_, node)| node.text());
    let path = text("path").unwrap_or_default().trim_end_matches('/');
    let end = path.rsplit('/').next().unwrap_or_default();
    let abbr = match text("name") {
        Some(name) => format!("{end}_{name}"),
        None => end.to_owned(),
    };
    let node = Node { value: Value::String(abbr.replace('/', "_")), span };
    table.entries.insert(0, KeyValue { key: "abbr".to_owned(), key_span: span, node });
}
