//! TOML with origins: every key and value knows its file and bytes, whatever was merged or inherited around it.

use super::source::Span;
use serde_json::Value as Json;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

/// TOML's values; a date is never wanted, so it carries nothing.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// Entries in the order written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<KeyValue>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&KeyValue> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The text at `key`, when there is one.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).node)
    }
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A number, whole or not.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The items of an array; none of anything else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// Places the value and all in it at `span`.
    pub(crate) fn place(&mut self, span: Span) {
        self.span = span;
        match &mut self.value {
            Value::Array(items) => items.iter_mut().for_each(|item| item.place(span)),
            Value::Table(table) => table.entries.iter_mut().for_each(|entry| {
                entry.key_span = span;
                entry.node.place(span);
            }),
            _ => {}
        }
    }

    /// `""`, `[]` and `{}` ask for nothing.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.value {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Table(table) => table.entries.is_empty(),
            _ => false,
        }
    }

    /// Returns what a person calls it, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::Datetime => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}

/// Puts `value` where nothing stands at `key`.
pub(crate) fn put(model: &mut Table, key: &str, span: Span, value: Value) {
    if model.get(key).is_none() {
        model.entries.push(KeyValue { key: key.to_owned(), key_span: span, node: Node { value, span } });
    }
}

/// An array of tables at one place.
pub(crate) fn array(items: Vec<Node>, span: Span) -> Node {
    Node { value: Value::Array(items), span }
}

/// Returns `true` if two values are equal, wherever they were written.
pub(crate) fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Integer(a), Value::Integer(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::Boolean(a), Value::Boolean(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Table(a), Value::Table(b)) => same_table(a, b),
        _ => false,
    }
}

/// Returns `true` if two tables have the same keys in the same order with the same values.
pub(crate) fn same_table(a: &Table, b: &Table) -> bool {
    let pairs = a.entries.iter().zip(&b.entries);
    a.entries.len() == b.entries.len() && pairs.into_iter().all(|(a, b)| a.key == b.key && same(&a.node, &b.node))
}

/// The value as JSON; a date, which nothing takes, is null.
pub(crate) fn json(node: &Node) -> Json {
    match &node.value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::Datetime => Json::Null,
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Table(table) => table.entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect(),
    }
}
