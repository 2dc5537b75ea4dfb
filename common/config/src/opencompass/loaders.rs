//! Rows that OpenCompass's loader classes stand for, as splits of ours. The table beside the presets was taken from them.

use crate::report::check::Check;
use crate::syntax::parse::parse;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_python::{Node as PythonNode, Plain};
use std::path::Path;

const TABLE: &str = include_str!("../../loaders/opencompass.toml");

/// Every record of the table.
#[derive(Clone, Debug)]
pub(super) struct Loaders(Vec<Node>);

/// Knowledge of a class with its parameters.
pub(super) enum Rows {
    /// The split, with the parameters in their places, and what else the class does.
    Known(Box<Known>),
    /// The class is known, with other parameters or another split.
    Otherwise(String),
    Unknown,
}

/// Equivalent of a class.
pub(crate) struct Known {
    pub(crate) source: Node,
    /// Postprocessor with which it reads the right answer.
    pub(crate) dataset_postprocessor: Option<KeyValue>,
}

impl Loaders {
    pub(super) fn read(check: &mut Check) -> Self {
        let file = check.sources.add_preset(Path::new("loaders/opencompass.toml"), TABLE.to_owned());
        let table = parse(check, file).unwrap_or_default();
        Self(table.get("loader").map(Node::items).unwrap_or_default().to_vec())
    }

    /// The rows of `split` of the class `name` with `parameters`.
    pub(super) fn rows(&self, name: &str, parameters: &[(&str, &PythonNode)], split: &str) -> Rows {
        let of_class = self.0.iter().filter_map(Node::table).filter(|record| record.text("class") == Some(name));
        let mut nearest = None;
        for record in of_class {
            let Some(known) = record.get("params").and_then(Node::table) else { continue };
            let is_split = record.text("split") == Some(split);
            match values(known, parameters) {
                Ok(values) if is_split => {
                    if let Some(source) = record.get("source") {
                        return Rows::Known(Box::new(Known {
                            source: replaced(source, &values),
                            dataset_postprocessor: record.entry("dataset_postprocessor").cloned(),
                        }));
                    }
                }
                Ok(_) => {
                    let has = record.text("split").unwrap_or_default();
                    nearest.get_or_insert(format!("its split `{split}` is not known here, and `{has}` is"));
                }
                Err(reason) => {
                    nearest.get_or_insert(reason);
                }
            }
        }
        nearest.map_or(Rows::Unknown, Rows::Otherwise)
    }
}

/// The texts of the parameters, where they are those of the record.
fn values<'p>(known: &Table, parameters: &[(&'p str, &PythonNode)]) -> Result<Vec<(&'p str, String)>, String> {
    if let Some(missing) = known.entries.iter().find(|entry| parameters.iter().all(|(name, _)| *name != entry.key)) {
        return Err(format!("it is known here with its parameter `{}` alone", missing.key));
    }
    let mut values = Vec::new();
    for (name, node) in parameters {
        let Some(wanted) = known.get(name) else { return Err(format!("its parameter `{name}` is not known here")) };
        let fits = match &wanted.value {
            Value::Array(many) => many.iter().any(|one| same(one, node)),
            _ => same(wanted, node),
        };
        if !fits {
            let given = node.text().map_or_else(|| "another value".to_owned(), |text| format!("\"{text}\""));
            return Err(format!("it is not known here with `{name} = {given}`"));
        }
        if let Some(text) = node.text() {
            values.push((*name, text.to_owned()));
        }
    }
    Ok(values)
}

fn same(known: &Node, node: &PythonNode) -> bool {
    match (&known.value, &node.value) {
        (Value::String(a), Plain::Text(b)) => a == b,
        (Value::Boolean(a), Plain::Bool(b)) => a == b,
        (Value::Integer(a), Plain::Int(b)) => i128::from(*a) == *b,
        _ => false,
    }
}

/// The split with `${name}` replaced by the parameter's value.
fn replaced(node: &Node, values: &[(&str, String)]) -> Node {
    let text = |text: &str| {
        values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    };
    let value = match &node.value {
        Value::String(written) => Value::String(text(written)),
        Value::Array(items) => Value::Array(items.iter().map(|item| replaced(item, values)).collect()),
        Value::Table(table) => Value::Table(Table {
            entries: table
                .entries
                .iter()
                .map(|entry| KeyValue {
                    key: text(&entry.key),
                    key_span: entry.key_span,
                    node: replaced(&entry.node, values),
                })
                .collect(),
        }),
        other => other.clone(),
    };
    Node { value, span: node.span }
}

/// Every class with its split, the parameters in words and what is known of the rows.
#[cfg(test)]
pub(crate) fn known_splits() -> Vec<(String, String, Known)> {
    use crate::syntax::tree::json;
    let loaders = Loaders::read(&mut Check::default());
    let mut all = Vec::new();
    for record in loaders.0.iter().filter_map(Node::table) {
        let (class, split) = (record.text("class").unwrap_or_default(), record.text("split").unwrap_or_default());
        let mut every: Vec<Vec<(&str, &Node)>> = vec![Vec::new()];
        for entry in record.get("params").and_then(Node::table).into_iter().flat_map(|table| &table.entries) {
            let values = match &entry.node.value {
                Value::Array(items) => items.as_slice(),
                _ => std::slice::from_ref(&entry.node),
            };
            let with =
                |value| every.iter().map(move |chosen| [chosen.clone(), vec![(entry.key.as_str(), value)]].concat());
            every = values.iter().flat_map(with).collect();
        }
        for chosen in &mut every {
            chosen.sort_by_key(|(name, _)| *name);
            let words: Vec<String> = chosen.iter().map(|(name, node)| format!("{name} = {}", json(node))).collect();
            let python: Vec<(&str, PythonNode)> = chosen.iter().map(|(name, node)| (*name, python(node))).collect();
            let parameters: Vec<(&str, &PythonNode)> = python.iter().map(|(name, node)| (*name, node)).collect();
            if let Rows::Known(known) = loaders.rows(class, &parameters, split) {
                all.push((class.to_owned(), format!("{split}: {}", words.join(", ")), *known));
            }
        }
    }
    all
}

#[cfg(test)]
fn python(node: &Node) -> PythonNode {
    let value = match &node.value {
        Value::Boolean(truth) => Plain::Bool(*truth),
        Value::Integer(number) => Plain::Int((*number).into()),
        _ => Plain::Text(node.text().unwrap_or_default().to_owned()),
    };
    PythonNode { value, place: compass_python::Place::default() }
}
