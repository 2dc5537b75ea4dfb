//! OpenCompass's groups of data sets, by the names of the files in which it keeps them (`configs/summarizers/groups`).

use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_diagnostic::spelling;
use serde_json::{Map, Value as Json};

/// Every file with its groups, as OpenCompass 0.5.4 evaluates them.
const FILE: &str = include_str!("../../../groups/opencompass.json");

fn files() -> Map<String, Json> {
    serde_json::from_str(FILE).unwrap_or_default()
}

/// The groups of a file as they would be written in Python, which JSON without truths and nulls is.
pub(crate) fn python(name: &str) -> Option<String> {
    files().get(name).map(Json::to_string)
}

/// The groups of a file; a name that is not known is reported.
pub(crate) fn groups(check: &mut Check, name: &str, span: Span) -> Option<Vec<Node>> {
    let files = files();
    match files.get(name).map(|groups| node(groups, span)) {
        Some(Node { value: Value::Array(groups), .. }) => Some(groups),
        _ => {
            let help = spelling::suggest(name, files.keys().map(String::as_str), "groups");
            check.error(span, format!("OpenCompass has no groups called `{name}`"), Some(help));
            None
        }
    }
}

/// Returns `true` if there is a file of this name.
pub(crate) fn has(name: &str) -> bool {
    files().contains_key(name)
}

/// Names of all files.
pub(crate) fn names() -> Vec<String> {
    files().keys().cloned().collect()
}

fn node(json: &Json, span: Span) -> Node {
    let value = match json {
        Json::String(text) => Value::String(text.clone()),
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Array(items) => Value::Array(items.iter().map(|item| node(item, span)).collect()),
        Json::Object(entries) => {
            let entry =
                |(key, value): (&String, &Json)| KeyValue { key: key.clone(), key_span: span, node: node(value, span) };
            Value::Table(Table { entries: entries.iter().map(entry).collect() })
        }
        Json::Null => Value::Table(Table::default()),
    };
    Node { value, span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::summary::group;

    #[test]
    fn every_group_of_opencompass_is_read() {
        compass_python::link_interpreter();
        let mut check = Check::default();
        let span = crate::flags::command_line::nowhere(&mut check);
        assert_eq!(names().len(), 56);
        let all: Vec<_> = names().iter().flat_map(|name| groups(&mut check, name, span).unwrap()).collect();
        let read = all.iter().filter(|node| group::published(&mut check, node).is_some()).count();
        let notes = check.finish().unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!((all.len(), read), (509, 509));
    }
}
