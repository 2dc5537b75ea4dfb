//! A file of settings beside a configuration, as teams have them for DLC: Python, or JSON.

use super::host::TreeHost;
use super::{Evaluated, evaluated, tree};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The dict that `wanted` names in the Python of `path`, else all that the file defines; `None` when there is none, which is reported.
pub(crate) fn python_settings(
    check: &mut Check,
    path: &Path,
    canonical: PathBuf,
    text: String,
    wanted: &str,
) -> Option<(Table, Span)> {
    let host = TreeHost::new(path, check.environment.python.clone());
    let Evaluated { places, names, span } = evaluated(check, &host, path, canonical, text)?;
    if let Some((_, node)) = names.iter().rev().find(|(name, _)| name == wanted) {
        let at = places.span(node.place);
        return match tree::convert(check, &places, node).map(|node| node.value) {
            Some(Value::Table(table)) => Some((table, at)),
            _ => {
                check.error(at, format!("`{wanted}` is not a dict"), Some(format!("write `{wanted} = dict(...)`")));
                None
            }
        };
    }
    let mut table = Table::default();
    for (name, node) in &names {
        if let Some(node) = tree::convert(check, &places, node) {
            table.entries.push(KeyValue { key: name.clone(), key_span: node.span, node });
        }
    }
    Some((table, span))
}

/// The object that `path` holds as JSON; `None` when there is none, which is reported.
pub(crate) fn json_settings(check: &mut Check, path: &Path, canonical: PathBuf, text: String) -> Option<(Table, Span)> {
    let parsed = serde_json::from_str::<Json>(&text);
    let file = check.sources.add(path, canonical, text);
    let span = Span { file, start: 0, end: 0 };
    match parsed {
        Ok(Json::Object(_)) => {}
        Ok(_) => {
            check.error(span, "this is not an object".into(), Some("write `{\"workspace_id\": \"...\"}`".into()));
            return None;
        }
        Err(error) => {
            let message = format!("`{}` is not JSON: {error}", path.display());
            check.error(span, message, Some("correct it there, or write the file as TOML".into()));
            return None;
        }
    }
    match parsed.ok().and_then(|json| node(json, span))?.value {
        Value::Table(table) => Some((table, span)),
        _ => None,
    }
}

/// `null` is a key that is not there.
fn node(json: Json, span: Span) -> Option<Node> {
    let value = match json {
        Json::Null => return None,
        Json::Bool(truth) => Value::Boolean(truth),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN)), Value::Integer)
        }
        Json::String(text) => Value::String(text),
        Json::Array(items) => Value::Array(items.into_iter().filter_map(|item| node(item, span)).collect()),
        Json::Object(entries) => {
            let entry = |(key, value)| Some(KeyValue { key, key_span: span, node: node(value, span)? });
            Value::Table(Table { entries: entries.into_iter().filter_map(entry).collect() })
        }
    };
    Some(Node { value, span })
}
