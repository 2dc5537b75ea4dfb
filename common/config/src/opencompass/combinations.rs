//! `model_dataset_combinations`: which models run which data sets, by their names.

use super::tree::Places;
use super::{datasets, models};
use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Table, Value, array};
use compass_python::{Node as PythonNode, Plain};

/// `[[combination]]` of every entry.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    if node.value == Plain::None {
        return None;
    }
    let help = "write `model_dataset_combinations = [dict(models=[...], datasets=[...])]`";
    if !is_list(node) {
        let message = "`model_dataset_combinations` is not a list".to_owned();
        check.error(places.span(node.place), message, Some(help.into()));
        return None;
    }
    if node.items().is_empty() {
        return None;
    }
    let mut tables = Vec::with_capacity(node.items().len());
    for entry in node.items() {
        let span = places.span(entry.place);
        if !matches!(entry.value, Plain::Dict(_)) {
            let message = "an entry of `model_dataset_combinations` is not a dict".to_owned();
            check.error(span, message, Some(help.into()));
            continue;
        }
        let mut table = Table::default();
        add(check, places, &mut table, entry, "models", models::abbr);
        add(check, places, &mut table, entry, "datasets", datasets::abbr);
        tables.push(Node { value: Value::Table(table), span });
    }
    Some(array(tables, places.span(node.place)))
}

fn is_list(node: &PythonNode) -> bool {
    matches!(node.value, Plain::List(_) | Plain::Tuple(_))
}

fn add(
    check: &mut Check,
    places: &Places,
    table: &mut Table,
    entry: &PythonNode,
    key: &str,
    abbr: fn(&PythonNode) -> Option<String>,
) {
    let Some(list) = entry.get(key) else {
        let message = format!("an entry of `model_dataset_combinations` without `{key}`");
        check.error(places.span(entry.place), message, Some(format!("name them: `{key}=[...]`")));
        return;
    };
    if !is_list(list) {
        let message = format!("`{key}` of `model_dataset_combinations` is not a list");
        check.error(places.span(list.place), message, Some(format!("write `{key}=[...]`")));
        return;
    }
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
