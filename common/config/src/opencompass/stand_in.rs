//! Data sets and models that come with the program, written as the Python that imports of OpenCompass's files expect.

use super::preset_form;
use crate::presets::{data_sets, models};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use compass_pyfmt::{float_text, python_repr_text};
use std::fmt::Write;

/// The text of a file whose value `datasets` are the data sets of a preset; `None` where no preset has this name.
pub(super) fn datasets(name: &str) -> Option<String> {
    let mut root = Table::default();
    data_sets::resolve(&mut Check::default(), &mut root, Some(&[name.to_owned()]));
    let tables = root.get("dataset").map(Node::items).filter(|tables| !tables.is_empty())?;
    Some(preset_form::imports() + &list("datasets", tables))
}

/// Likewise `models`, of a model that comes by name.
pub(super) fn models(name: &str) -> Option<String> {
    let mut root = Table::default();
    models::resolve(&mut Check::default(), &mut root, Some(&[name.to_owned()]));
    let tables = root.get("model").map(Node::items).filter(|tables| !tables.is_empty())?;
    Some(list("models", tables))
}

fn list(name: &str, tables: &[Node]) -> String {
    let mut text = format!("{name} = [\n");
    for node in tables {
        text.push_str("    ");
        write(&mut text, node);
        text.push_str(",\n");
    }
    text.push_str("]\n");
    text
}

fn write(out: &mut String, node: &Node) {
    match &node.value {
        Value::String(text) => out.push_str(&python_repr_text(text)),
        Value::Integer(number) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => out.push_str(&float_text(*number)),
        Value::Boolean(true) => out.push_str("True"),
        Value::Boolean(false) => out.push_str("False"),
        Value::Datetime => out.push_str("None"),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(out, item);
            }
            out.push(']');
        }
        Value::Table(table) => {
            out.push('{');
            for (at, entry) in table.entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(&python_repr_text(&entry.key));
                out.push_str(": ");
                if !preset_form::write(out, &entry.key, &entry.node, &write) {
                    write(out, &entry.node);
                }
            }
            out.push('}');
        }
    }
}
