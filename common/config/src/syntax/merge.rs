//! One configuration over another: arrays replace, tables merge key by key, lists of named tables merge by name.

use super::tree::{KeyValue, Node, Table, Value};

/// The lists of tables that merge by a name, and the key that holds it.
pub(crate) const NAMED_LISTS: [(&str, &str); 4] =
    [("model", "abbr"), ("dataset", "abbr"), ("summary_group", "name"), ("pool", "name")];

/// Keys whose value may be written as a name alone: a table without `type` over it gives the thing of that name further keys.
const NAMED_TABLES: [&str; 7] =
    ["inferencer", "retriever", "evaluator", "pred_postprocessor", "dataset_postprocessor", "partitioner", "runner"];

/// `over` on top of `base`, both whole files.
pub(crate) fn merge_files(mut base: Table, over: Table) -> Table {
    for entry in over.entries {
        let name = NAMED_LISTS.iter().find(|(list, _)| *list == entry.key).map(|(_, name)| *name);
        match (name, base.get_mut(&entry.key)) {
            (Some(name), Some(Node { value: Value::Array(below), span })) => match entry.node.value {
                Value::Array(above) => {
                    *span = entry.node.span;
                    merge_lists(below, above, name);
                }
                other => *below = vec![Node { value: other, span: entry.node.span }],
            },
            (_, Some(below)) => merge_node(&entry.key, below, entry.node),
            (_, None) => base.entries.push(entry),
        }
    }
    base
}

fn merge_lists(base: &mut Vec<Node>, over: Vec<Node>, name: &str) {
    for node in over {
        let wanted = node.table().and_then(|table| table.text(name));
        let twin = wanted.and_then(|wanted| {
            base.iter_mut().find(|below| below.table().and_then(|table| table.text(name)) == Some(wanted))
        });
        match (twin, node) {
            (Some(Node { value: Value::Table(below), span }), Node { value: Value::Table(above), span: over }) => {
                *span = over;
                merge_tables(below, above);
            }
            (_, node) => base.push(node),
        }
    }
}

/// `over` on top of `base`, key by key.
pub(crate) fn merge_tables(base: &mut Table, over: Table) {
    for entry in over.entries {
        match base.entries.iter_mut().find(|below| below.key == entry.key) {
            Some(below) => {
                below.key_span = entry.key_span;
                merge_node(&entry.key, &mut below.node, entry.node);
            }
            None => base.entries.push(entry),
        }
    }
}

fn merge_node(key: &str, base: &mut Node, over: Node) {
    if let (Value::String(_), Value::Table(above)) = (&base.value, &over.value)
        && NAMED_TABLES.contains(&key)
        && above.get("type").is_none()
    {
        *base = with_type(base.clone());
    }
    match (&mut base.value, over.value) {
        // Another `type` is another thing: the keys of a `fix_k` mean nothing to a `zero`.
        (Value::Table(below), Value::Table(above)) if !types_differ(below, &above) => {
            base.span = over.span;
            merge_tables(below, above);
        }
        (_, value) => *base = Node { value, span: over.span },
    }
}

/// A name as the table that it is short for.
fn with_type(name: Node) -> Node {
    let span = name.span;
    let entries = vec![KeyValue { key: "type".to_owned(), key_span: span, node: name }];
    Node { value: Value::Table(Table { entries }), span }
}

fn types_differ(base: &Table, over: &Table) -> bool {
    matches!((base.text("type"), over.text("type")), (Some(below), Some(above)) if below != above)
}
