//! Templates and options as the configuration writes them.

use super::check::Check;
use super::tree::{Node, Table, Value};
use crate::prompt::{Options, Template};

/// The keys of OpenCompass's chat templates.
const ROUNDS: [&str; 3] = ["begin", "round", "end"];
const NO_ROUNDS: &str = "write the whole prompt as one string";

/// A string, or a table from label to string in the order written.
pub(super) fn read(check: &mut Check, key: &str, node: &Node) -> Option<Template> {
    match &node.value {
        Value::String(text) => Some(Template::Text(text.clone())),
        Value::Table(table) if is_rounds(table) => {
            check.not_yet(node.span, &format!("`{key}` in rounds"), NO_ROUNDS);
            None
        }
        Value::Table(table) => labels(check, key, node, table).map(Template::Labels),
        Value::Array(_) => {
            check.not_yet(node.span, &format!("`{key}` in rounds"), NO_ROUNDS);
            None
        }
        _ => {
            check.wrong_type(key, node, "a string or a table from label to string", "\"...\"");
            None
        }
    }
}

/// `"{column}"`, or a table from label to string.
pub(super) fn options(check: &mut Check, node: &Node) -> Option<Options> {
    match &node.value {
        Value::String(text) => {
            let column = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            match column.filter(|column| !column.is_empty() && !column.contains(['{', '}'])) {
                Some(column) => Some(Options::Column(column.into())),
                None => {
                    let help = "name one column that holds a list, as in `options = \"{choices}\"`, or write a table \
                                from label to answer";
                    check.error(node.span, format!("`options` cannot be `{text}`"), Some(help.into()));
                    None
                }
            }
        }
        Value::Table(table) => labels(check, "options", node, table).map(Options::Labels),
        _ => {
            check.wrong_type("options", node, "a string or a table from label to string", "\"{choices}\"");
            None
        }
    }
}

fn is_rounds(table: &Table) -> bool {
    !table.entries.is_empty() && table.entries.iter().all(|entry| ROUNDS.contains(&entry.key.as_str()))
}

fn labels(check: &mut Check, key: &str, node: &Node, table: &Table) -> Option<Vec<(String, String)>> {
    if table.entries.is_empty() {
        let help =
            format!("write a string, or a label for each answer, as in `{key} = {{ A = \"...\", B = \"...\" }}`");
        check.error(node.span, format!("`{key}` has no labels"), Some(help));
        return None;
    }
    let mut labels = Vec::with_capacity(table.entries.len());
    for entry in &table.entries {
        let full = format!("{key}.{}", entry.key);
        match &entry.node.value {
            Value::String(text) => labels.push((entry.key.clone(), text.clone())),
            Value::Table(inner) if is_rounds(inner) => {
                check.not_yet(entry.node.span, &format!("`{full}` in rounds"), NO_ROUNDS);
            }
            _ => check.wrong_type(&full, &entry.node, "a string", "\"...\""),
        }
    }
    (labels.len() == table.entries.len()).then_some(labels)
}
