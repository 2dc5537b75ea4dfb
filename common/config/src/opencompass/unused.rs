//! Parts of an entry of `datasets` that OpenCompass never looks at: left out here, where they would be errors.

use super::tree;
use crate::syntax::tree::{KeyValue, Node, Table, Value};

/// Retrievers that compare rows by their input columns.
const COMPARING: &[&str] = &["BM25Retriever", "TopkRetriever", "VotekRetriever", "DPPRetriever", "MDLRetriever"];

/// Removes input columns that no row has and nothing uses, labels of an inferencer that generates, and counts of answers that are one.
pub(super) fn remove(table: &mut Table) {
    for key in ["n", "k"] {
        if matches!(table.get(key), Some(Node { value: Value::Integer(1), .. })) {
            table.remove(key);
        }
    }
    let infer = table.get("infer_cfg").cloned();
    let class = |part: &str| {
        let of = infer.as_ref().and_then(Node::table).and_then(|infer| infer.get(part)).and_then(Node::table);
        of.and_then(|part| part.text("type")).map(tree::last).unwrap_or_default().to_owned()
    };
    if class("inferencer") == "GenInferencer"
        && let Some(Node { value: Value::Table(infer), .. }) = table.get_mut("infer_cfg")
        && let Some(Node { value: Value::Table(inferencer), .. }) = infer.get_mut("inferencer")
    {
        inferencer.remove("labels");
    }
    if COMPARING.contains(&class("retriever").as_str()) {
        return;
    }
    let test = table.get("test").and_then(Node::table);
    let only = test.and_then(|test| test.get("only")).cloned();
    // Of rows that a class gave nothing is known here but their file.
    if only.is_none() && test.is_none_or(|test| test.entries.len() > 1) {
        return;
    }
    let has =
        |column: &str| only.as_ref().is_some_and(|only| only.items().iter().any(|name| name.text() == Some(column)));
    let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg") else { return };
    let Some(columns) = reader.get_mut("input_columns") else { return };
    let is_used = |column: &str| has(column) || infer.as_ref().is_some_and(|infer| names(infer, column));
    match &mut columns.value {
        Value::Array(items) if items.iter().filter_map(Node::text).any(is_used) => {
            items.retain(|item| item.text().is_none_or(is_used));
        }
        Value::String(words) if words.split_whitespace().any(is_used) => {
            *words = words.split_whitespace().filter(|word| is_used(word)).collect::<Vec<_>>().join(" ");
        }
        _ => {}
    }
}

/// Returns `true` if a text below the node has a place for the column, or a message expands it.
fn names(node: &Node, column: &str) -> bool {
    match &node.value {
        Value::String(text) => text.contains(&format!("{{{column}}}")),
        Value::Array(items) => items.iter().any(|item| names(item, column)),
        Value::Table(table) => {
            let is_column = |entry: &KeyValue| entry.key == "expand_column" && entry.node.text() == Some(column);
            table.entries.iter().any(|entry| is_column(entry) || names(&entry.node, column))
        }
        _ => false,
    }
}
