//! A configuration that the user's own interpreter evaluated, because compass-python cannot.
//!
//! Its values have no places: all of them stand at the beginning of the file.

use crate::report::environment::PythonWorld;
use compass_python::{Node, Place, Plain};
use compass_settings::{EvaluatedConfiguration, LoaderWorld, NoRows};
use serde_json::Value;

/// The names of a configuration with their values, and what is told of where they come from.
type Told = (Vec<(String, Node)>, String);

/// The names of the configuration, and what is told of where they come from; `None` where no interpreter was named.
pub(super) fn names(python: &PythonWorld, world: &LoaderWorld) -> Option<Result<Told, NoRows>> {
    let evaluated = python.loader.as_ref()?.0.configuration(world)?;
    Some(evaluated.and_then(|EvaluatedConfiguration { names, said }| {
        let unreadable = || NoRows { reason: "it gave a configuration that cannot be read".into(), help: None };
        let Some(Plain::Dict(entries)) = node(&names).map(|node| node.value) else { return Err(unreadable()) };
        let named = entries.into_iter().filter_map(|(key, node)| Some((key.text()?.to_owned(), node)));
        Ok((named.collect(), said))
    }))
}

/// Converts `{"tuple": [...]}` and the like to what they stand for.
fn node(value: &Value) -> Option<Node> {
    let all = |items: &Value| items.as_array()?.iter().map(node).collect::<Option<Vec<Node>>>();
    let value = match value {
        Value::Null => Plain::None,
        Value::Bool(value) => Plain::Bool(*value),
        Value::String(text) => Plain::Text(text.clone()),
        Value::Object(marked) => {
            let (mark, value) = marked.iter().next()?;
            match mark.as_str() {
                "int" => Plain::Int(value.as_str()?.parse().ok()?),
                "float" => Plain::Float(value.as_str()?.parse().ok()?),
                "list" => Plain::List(all(value)?),
                "tuple" => Plain::Tuple(all(value)?),
                "dict" => {
                    let entry = |pair: &Value| Some((node(pair.get(0)?)?, node(pair.get(1)?)?));
                    Plain::Dict(value.as_array()?.iter().map(entry).collect::<Option<_>>()?)
                }
                "symbol" => Plain::Symbol(value.as_str()?.to_owned()),
                _ => Plain::Other("an object"),
            }
        }
        Value::Array(_) | Value::Number(_) => return None,
    };
    Some(Node { value, place: Place::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_python() {
        let json = r#"{"dict": [["a", {"int": "1"}], [{"int": "0"}, {"tuple": [null, true, {"float": "inf"}]}],
                      ["t", {"symbol": "m.C"}], ["f", {"other": "function"}], ["l", {"list": ["x"]}]]}"#;
        let Plain::Dict(entries) = node(&serde_json::from_str(json).unwrap()).unwrap().value else { panic!() };
        let values: Vec<&Plain> = entries.iter().map(|(_, node)| &node.value).collect();
        assert_eq!(values[0], &Plain::Int(1));
        assert_eq!(entries[1].0.value, Plain::Int(0));
        assert!(matches!(values[1], Plain::Tuple(items) if items[2].value == Plain::Float(f64::INFINITY)));
        assert_eq!(values[2], &Plain::Symbol("m.C".into()));
        assert_eq!(values[3], &Plain::Other("an object"));
        assert!(matches!(values[4], Plain::List(items) if items[0].text() == Some("x")));
        assert!(node(&serde_json::json!([1])).is_none());
    }
}
