//! From values of Python to the tree of a configuration.
//!
//! `None` is a key that is not there. A class is its name without the packages around it, which is how TOML names it. Tuples are
//! arrays. What has no value outside of Python is reported where it stands.

use crate::flags::custom_dataset::absolute;
use crate::report::check::Check;
use crate::syntax::source::{FileId, Span};
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_python::{Node as PythonNode, Place, Plain};

/// Files of an evaluation in the form of a configuration.
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<FileId>);

impl Places {
    pub(super) fn new(files: Vec<FileId>) -> Self {
        Self(files)
    }

    pub(super) fn span(&self, place: Place) -> Span {
        let file = self.0.get(place.file.index()).or(self.0.first()).copied().unwrap_or_default();
        let range = place.range();
        Span { file, start: range.start, end: range.end }
    }

    /// The beginning of the file that was asked for.
    pub(super) fn beginning(&self) -> Option<Span> {
        self.0.first().map(|file| Span { file: *file, start: 0, end: 0 })
    }
}

/// The tree of a value; `None` for `None` and for what cannot be one, which is reported.
pub(super) fn convert(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    let value = match &node.value {
        Plain::None => return None,
        Plain::Bool(value) => Value::Boolean(*value),
        Plain::Int(value) => match i64::try_from(*value) {
            Ok(value) => Value::Integer(value),
            Err(_) => {
                check.error(span, "an integer beyond 64 bits".into(), Some("write a smaller number".into()));
                return None;
            }
        },
        Plain::Float(value) => Value::Float(*value),
        Plain::Text(text) => Value::String(text.clone()),
        Plain::Symbol(dotted) => Value::String(last(dotted).to_owned()),
        Plain::List(items) | Plain::Tuple(items) => {
            Value::Array(items.iter().filter_map(|item| convert(check, places, item)).collect())
        }
        Plain::Dict(entries) => Value::Table(table(check, places, entries)),
        Plain::Other(kind) => {
            let help = "write plain values: text, numbers, lists and dicts";
            check.error(span, format!("{kind} cannot stand in a configuration"), Some(help.into()));
            return None;
        }
    };
    Some(Node { value, span })
}

/// The table of a dict's entries. Keys that are numbers become their texts: labels are compared as texts.
pub(super) fn table(check: &mut Check, places: &Places, entries: &[(PythonNode, PythonNode)]) -> Table {
    let mut table = Table::default();
    for (key, node) in entries {
        let Some(name) = self::key(key) else {
            let help = "keys are texts or numbers";
            check.error(places.span(key.place), "a key that no configuration has".into(), Some(help.into()));
            continue;
        };
        if let Some(node) = convert(check, places, node) {
            let key_span = places.span(key.place);
            match table.get_mut(&name) {
                // `0` and `"0"`: two keys there, one label here.
                Some(_) => {
                    let message = format!("`{name}` stands here as a number and as a text");
                    check.error(key_span, message, Some("remove one of the two".into()));
                }
                None => table.entries.push(KeyValue { key: name, key_span, node }),
            }
        }
    }
    table
}

/// The text of a key: of a number, its digits.
pub(super) fn key(key: &PythonNode) -> Option<String> {
    Some(match &key.value {
        Plain::Text(text) => text.clone(),
        Plain::Int(value) => value.to_string(),
        Plain::Bool(true) => "True".to_owned(),
        Plain::Bool(false) => "False".to_owned(),
        Plain::Symbol(dotted) => last(dotted).to_owned(),
        _ => return None,
    })
}

/// A path that is relative to the current directory, as OpenCompass has them.
pub(super) fn path(places: &Places, node: &PythonNode) -> Option<Node> {
    let text = node.text()?;
    let absolute = absolute(text);
    let value = Value::String(absolute.as_str().unwrap_or(text).to_owned());
    Some(Node { value, span: places.span(node.place) })
}

/// `HuggingFaceBaseModel` of `opencompass.models.HuggingFaceBaseModel`.
pub(super) fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}
