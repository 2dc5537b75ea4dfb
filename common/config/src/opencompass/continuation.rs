//! The continuation that `LLInferencer` scores: the column `cont`, with which the text of every label ends. There the class knows
//! it; here the configuration says it.

use super::tree;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};

/// The column that OpenCompass's `LLInferencer` looks for in each row.
const COLUMN: &str = "cont";

/// Names the continuation in the `infer_cfg` of a data set whose inferencer is `LLInferencer`.
pub(super) fn name(table: &mut Table, span: Span) {
    let Some(Node { value: Value::Table(infer), .. }) = table.get_mut("infer_cfg") else { return };
    let class = infer.get("inferencer").and_then(Node::table).and_then(|inferencer| inferencer.text("type"));
    if class.map(tree::last) != Some("LLInferencer") {
        return;
    }
    let text = |text: String| Value::String(text);
    for (key, value) in [
        ("target", text(format!("{{{COLUMN}}}"))),
        ("target_delimiter", text(String::new())),
        ("target_within", Value::Boolean(true)),
    ] {
        infer.entries.push(KeyValue { key: key.to_owned(), key_span: span, node: Node { value, span } });
    }
    if let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg")
        && let Some(columns) = reader.get_mut("input_columns")
    {
        match &mut columns.value {
            Value::Array(items) if items.iter().all(|item| item.text() != Some(COLUMN)) => {
                items.push(Node { value: text(COLUMN.to_owned()), span: columns.span });
            }
            Value::String(words) if words.split_whitespace().all(|word| word != COLUMN) => {
                *words = format!("{words} {COLUMN}");
            }
            _ => {}
        }
    }
}
