//! `model_dataset_combinations`: which models run which data sets, by their names.

use super::tree::Places;
use super::{array, datasets, models};
use crate::check::Check;
use crate::tree::{KeyValue, Node, Table, Value};
use compass_python::Node as PythonNode;

/// `[[combination]]` of every entry.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    if node.items().is_empty() {
        return None;
    }
    let tables = node.items().iter().map(|entry| {
        let mut table = Table::default();
        add(check, places, &mut table, entry, "models", models::abbr);
        add(check, places, &mut table, entry, "datasets", datasets::abbr);
        Node { value: Value::Table(table), span: places.span(entry.place) }
    });
    let tables = tables.collect();
    Some(array(tables, places.span(node.place)))
}

fn add(
    check: &mut Check,
    places: &Places,
    table: &mut Table,
    entry: &PythonNode,
    key: &str,
    abbr: fn(&PythonNode) -> Option<String>,
) {
    let Some(list) = entry.get(key) else { return };
    let mut names = Vec::with_capacity(list.items().len());
    for item in list.items() {
        let span = places.span(item.place);
        match abbr(item) {
            Some(name) => names.push(Node { value: Value::String(name), span }),
            None => check.error(span, format!("an entry of `{key}` without a name"), Some("give it an `abbr`".into())),
        }
    }
    let span = places.span(list.place);
    table.entries.push(KeyValue { key: key.to_owned(), key_span: span, node: array(names, span) });
}
