//! `for_each`: one [[dataset]] written once for many subjects.
//!
//! `for_each = { subject = ["anatomy", "astronomy"], title = ["Anatomy", "Astronomy"] }` makes one table for each position
//! of the lists, with `${subject}` and `${title}` replaced in every string of the table.

use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use compass_diagnostic::spelling;

/// Writes out every `for_each` of `root`'s data sets. What is wrong is reported, and its table left out.
pub(crate) fn expand(check: &mut Check, root: &mut Table) {
    let Some(Node { value: Value::Array(tables), .. }) = root.get_mut("dataset") else { return };
    for node in std::mem::take(tables) {
        match node.table().and_then(|table| table.get("for_each")).cloned() {
            Some(lists) => tables.extend(each(check, &node, &lists).unwrap_or_default()),
            None => tables.push(node),
        }
    }
}

fn each(check: &mut Check, node: &Node, lists: &Node) -> Option<Vec<Node>> {
    let Some(table) = lists.table().filter(|table| !table.entries.is_empty()) else {
        check.wrong_type("for_each", lists, "a table from name to list", "{ subject = [\"a\", \"b\"] }");
        return None;
    };
    let mut columns: Vec<(&str, Vec<String>)> = Vec::with_capacity(table.entries.len());
    for entry in &table.entries {
        let texts = check.texts(&format!("for_each.{}", entry.key), &entry.node)?;
        columns.push((&entry.key, texts.into_iter().map(|(text, _)| text).collect()));
    }
    let count = columns.first().map_or(0, |(_, texts)| texts.len());
    let (names, uneven): (Vec<&str>, bool) =
        (columns.iter().map(|(name, _)| *name).collect(), columns.iter().any(|(_, texts)| texts.len() != count));
    if uneven || count == 0 {
        let help = format!("give {} equally many values, one at least", spelling::list(&names));
        check.error(lists.span, "the lists of `for_each` are not of one length".into(), Some(help));
        return None;
    }
    let mut written = Vec::with_capacity(count);
    for at in 0..count {
        let values =
            columns.iter().map(|(name, texts)| (format!("${{{name}}}"), texts.get(at).cloned().unwrap_or_default()));
        let values: Vec<(String, String)> = values.collect();
        let mut copy = node.clone();
        if let Value::Table(table) = &mut copy.value {
            table.remove("for_each");
        }
        replace(&mut copy, &values);
        written.push(copy);
    }
    Some(written)
}

/// Replaces each of `values`, a placeholder and what stands for it, in every string.
pub(crate) fn replace(node: &mut Node, values: &[(String, String)]) {
    match &mut node.value {
        Value::String(text) => {
            for (name, value) in values {
                if text.contains(name.as_str()) {
                    *text = text.replace(name, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, values)),
        Value::Table(table) => table.entries.iter_mut().for_each(|entry| replace(&mut entry.node, values)),
        _ => {}
    }
}
