//! `summarizer`: the rows of the table in their order, and groups of data sets that it shows as one.

use super::class;
use super::tree::{self, Places};
use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Table, Value, array};
use compass_python::{Node as PythonNode, Plain};

/// Keys that are taken of it; the rest belongs to OpenCompass's other tables.
const TAKEN: &[&str] = &["dataset_abbrs", "summary_groups"];

/// The one that shows several metrics of each row, in columns of their own.
const CIRCULAR: &str = "CircularSummarizer";

/// A row of CircularSummarizer's as one for each of its metrics.
fn with_metrics(row: &Node, metrics: &[Node]) -> Vec<Node> {
    let pair = |metric: &Node| array(vec![row.clone(), metric.clone()], row.span);
    match row.text() {
        Some(_) => metrics.iter().map(pair).collect(),
        None => vec![row.clone()],
    }
}

/// `[summarizer]`; `None` where there is nothing in it.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    let Plain::Dict(entries) = &node.value else {
        if node.value != Plain::None {
            check.error(span, "`summarizer` is not a dict".into(), Some("write `summarizer = dict(...)`".into()));
        }
        return None;
    };
    let metrics = (class::of(node) == Some(CIRCULAR))
        .then(|| node.get("metric_types").map(|types| tree::convert(check, places, types)))
        .flatten()
        .flatten()
        .map(|types| types.items().to_vec());
    let mut table = Table::default();
    for (key, value) in entries {
        let (Some(name), key_span) = (key.text(), places.span(key.place)) else { continue };
        if name == "metric_types" && metrics.is_some() {
            continue;
        }
        if name == "type" {
            if let Some(other) = class::of(node).filter(|class| *class != "DefaultSummarizer" && *class != CIRCULAR) {
                let help = "the table has the rows of OpenCompass's DefaultSummarizer";
                check.note(key_span, format!("`{other}` has no effect"), help);
            }
        } else if TAKEN.contains(&name) {
            let node = match &value.value {
                // Texts and pairs that are lists, or tuples; `None` is a key that is not there.
                Plain::List(items) | Plain::Tuple(items) => {
                    let items = items.iter().filter_map(|item| tree::convert(check, places, item));
                    let items = match &metrics {
                        Some(metrics) if name == "dataset_abbrs" => {
                            items.flat_map(|item| with_metrics(&item, metrics)).collect()
                        }
                        _ => items.collect(),
                    };
                    Some(array(items, places.span(value.place)))
                }
                _ => tree::convert(check, places, value),
            };
            if let Some(node) = node {
                table.entries.push(KeyValue { key: name.to_owned(), key_span, node });
            }
        } else if value.value != Plain::None {
            check.note(key_span, format!("`{name}` of summarizer has no effect"), "remove the key");
        }
    }
    (!table.entries.is_empty()).then_some(Node { value: Value::Table(table), span })
}
