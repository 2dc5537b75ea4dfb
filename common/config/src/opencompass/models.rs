//! `models`: tables as TOML has them. What a class stands for is said in [`crate::read::models::class`], for both.

use super::tree::{self, Places};
use super::{class, functions};
use crate::keys::vocabulary::{KINDS, is_endpoint};
use crate::report::check::Check;
use crate::report::left_out;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, array};
use compass_python::{Node as PythonNode, Plain};
use compass_settings::LeftOutKind;
use std::path::Path;

/// Keys whose values are paths, or names on the hub.
const PATHS: &[&str] = &["path", "tokenizer_path", "peft_path", "model_config"];
/// Keys that OpenCompass's configurations leave empty where they mean nothing.
const MAY_BE_EMPTY: &[&str] = &["stop_words", "meta_template"];

/// `[[model]]` of every entry of `models`.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    if !matches!(node.value, Plain::List(_) | Plain::Tuple(_)) {
        check.error(span, "`models` is not a list".into(), Some("write `models = [...]`".into()));
        return None;
    }
    let mut models = Vec::with_capacity(node.items().len());
    for entry in node.items() {
        let before = check.count();
        let read = model(check, places, entry);
        let name = entry.get("abbr").and_then(PythonNode::text);
        let is_left_out = left_out::settle(check, before, LeftOutKind::Model, places.span(entry.place), name);
        models.extend(read.filter(|_| !is_left_out));
    }
    Some(array(models, span))
}

fn model(check: &mut Check, places: &Places, entry: &PythonNode) -> Option<Node> {
    let span = places.span(entry.place);
    let Plain::Dict(entries) = &entry.value else {
        check.error(span, "an entry of `models` is not a dict".into(), Some("write `dict(type=..., path=...)`".into()));
        return None;
    };
    let mut table = tree::table(check, places, entries);
    functions::keep_modules(&mut table, entry);
    // The kinds of TOML, `type="hf"`, with TOML's keys; a model that comes with the program has no class of OpenCompass's.
    let is_native = match class::dotted(entry) {
        Some(written) => KINDS.now.iter().any(|(kind, _)| *kind == written),
        None => entry.get("abbr").is_some() && entry.get("path").is_some(),
    };
    if is_native {
        return Some(Node { value: Value::Table(table), span });
    }
    let Some(dotted) = class::dotted(entry) else {
        check.error(span, "a model without `type`".into(), Some("write `type=HuggingFaceBaseModel`".into()));
        return None;
    };
    if let Some(node) = table.get_mut("type") {
        node.value = Value::String(dotted.to_owned());
    }
    // A name at a server is no path.
    let paths = if is_endpoint(dotted) { &[][..] } else { PATHS };
    for key in paths {
        if let Some(node) = entry.get(key).and_then(|node| tree::path(places, node))
            && let Some(there) = table.get_mut(key)
        {
            *there = node;
        }
    }
    for key in MAY_BE_EMPTY {
        if table.get(key).is_some_and(Node::is_empty) {
            table.remove(key);
        }
    }
    if table.get("abbr").is_none()
        && let Some(abbr) = abbr(entry)
    {
        named(&mut table, abbr, span);
    }
    Some(Node { value: Value::Table(table), span })
}

/// The name of a model: its own, or as OpenCompass makes it of its class and the last two parts of its real path.
pub(super) fn abbr(entry: &PythonNode) -> Option<String> {
    if let Some(abbr) = entry.get("abbr").and_then(PythonNode::text) {
        return Some(abbr.to_owned());
    }
    let path = Path::new(entry.get("path")?.text()?);
    let real = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()?;
    let parts: Vec<_> = real.iter().map(|part| part.to_string_lossy().replace('/', "")).collect();
    let last = parts.get(parts.len().saturating_sub(2)..).unwrap_or_default().join("_");
    Some(format!("{}_{last}", class::dotted(entry)?))
}

fn named(table: &mut Table, abbr: String, span: Span) {
    let node = Node { value: Value::String(abbr), span };
    table.entries.insert(0, KeyValue { key: "abbr".to_owned(), key_span: span, node });
}
