//! Parameters of a loader class, from values of Python to JSON.

use super::tree;
use compass_python::{Node, Plain};
use serde_json::{Map, Number, Value};

/// The parameters by name; keys that are numbers become their texts, classes their names with the packages around them.
///
/// # Errors
/// The first parameter that JSON has no value for.
pub(super) fn json(parameters: &[(&str, &Node)]) -> Result<Map<String, Value>, String> {
    let value = |(name, node): &(&str, &Node)| {
        let value = plain(node).ok_or_else(|| format!("its parameter `{name}` is not a plain value"))?;
        Ok(((*name).to_owned(), value))
    };
    parameters.iter().map(value).collect()
}

fn plain(node: &Node) -> Option<Value> {
    Some(match &node.value {
        Plain::None => Value::Null,
        Plain::Bool(value) => Value::Bool(*value),
        Plain::Int(value) => Value::Number(i64::try_from(*value).ok()?.into()),
        Plain::Float(value) => Value::Number(Number::from_f64(*value)?),
        Plain::Text(text) | Plain::Symbol(text) => Value::String(text.clone()),
        Plain::List(items) | Plain::Tuple(items) => Value::Array(items.iter().map(plain).collect::<Option<_>>()?),
        Plain::Dict(entries) => {
            let entry = |(key, node): &(Node, Node)| Some((tree::key(key)?, plain(node)?));
            Value::Object(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        Plain::Other(_) => return None,
    })
}
