//! The tree of a configuration as the text of a TOML file, as a person would write it: one section for each model, data set and
//! large table, everything else on lines of its own. Entries keep their order: labels of a template are compared in it.

use super::source::Span;
use super::tree::{KeyValue, Node, Table, Value};
use std::fmt::Write;

/// Longest line before a list is broken into its items, and a table becomes a section.
const WIDTH: usize = 100;

/// The text of a whole file; `comment` says where a part was written.
pub(crate) fn document(root: &Table, comment: &dyn Fn(Span) -> String) -> String {
    let mut out = String::new();
    for KeyValue { key, node, .. } in &ordered(root).entries {
        match &node.value {
            Value::Table(table) if !table.entries.is_empty() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\n# {}\n[{}]\n", comment(node.span), name(key));
                section(&mut out, &name(key), table);
            }
            Value::Array(items) if is_sections(node) => {
                for item in items {
                    let _ = write!(out, "\n# {}\n[[{}]]\n", comment(item.span), name(key));
                    section(&mut out, &name(key), item.table().unwrap_or(&Table::default()));
                }
            }
            _ => line(&mut out, key, node),
        }
    }
    out
}

/// The entries of a file in the order of its text: those without sections first.
pub(crate) fn ordered(root: &Table) -> Table {
    let mut entries = root.entries.clone();
    entries.sort_by_key(|entry| {
        is_sections(&entry.node) || entry.node.table().is_some_and(|table| !table.entries.is_empty())
    });
    Table { entries }
}

/// Returns `true` if a list is written with a section for each of its items.
fn is_sections(node: &Node) -> bool {
    let items = node.items();
    !items.is_empty() && items.iter().all(|item| item.table().is_some())
}

/// The entries of a table below its header. Tables at its end become sections of their own from the first one on that is long:
/// what stands behind a header belongs to it.
fn section(out: &mut String, path: &str, table: &Table) {
    let entries = &table.entries;
    let is_table = |entry: &KeyValue| entry.node.table().is_some_and(|table| !table.entries.is_empty());
    let last_plain = entries.iter().rposition(|entry| !is_table(entry)).map_or(0, |at| at + 1);
    let is_long = |entry: &KeyValue| inline(&entry.node, 0).len() + entry.key.len() > WIDTH;
    let (lines, tables) = entries.split_at(last_plain);
    let first_long = tables.iter().position(is_long).unwrap_or(tables.len());
    let (short, sections) = tables.split_at(first_long);
    for entry in lines.iter().chain(short) {
        line(out, &entry.key, &entry.node);
    }
    for KeyValue { key, node, .. } in sections {
        let path = format!("{path}.{}", name(key));
        let _ = writeln!(out, "[{path}]");
        section(out, &path, node.table().unwrap_or(&Table::default()));
    }
}

fn line(out: &mut String, key: &str, node: &Node) {
    let key = name(key);
    let _ = writeln!(out, "{key} = {}", inline(node, key.len() + 3));
}

/// A value within a line that has `before` characters already; long lists have a line for each item.
fn inline(node: &Node, before: usize) -> String {
    match &node.value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => toml::Value::Float(*number).to_string(),
        Value::Boolean(flag) => flag.to_string(),
        // No configuration in Python has one.
        Value::Datetime => "\"\"".to_owned(),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(|item| inline(item, 2)).collect();
            let length: usize = texts.iter().map(|text| text.len() + 2).sum();
            let is_broken = before + length > WIDTH && texts.len() > 1 || texts.iter().any(|text| text.contains('\n'));
            match is_broken {
                true => format!("[\n  {},\n]", texts.join(",\n").replace('\n', "\n  ")),
                false => format!("[{}]", texts.join(", ")),
            }
        }
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entry = |entry: &KeyValue| format!("{} = {}", name(&entry.key), inline(&entry.node, before));
            format!("{{ {} }}", table.entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A key, quoted where it has to be.
fn name(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if is_bare { key.to_owned() } else { quoted(key) }
}

/// A text in quotes. JSON's escapes are all TOML's; TOML wants one more.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
