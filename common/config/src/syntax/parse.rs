//! From the text of one file to a tree with origins. Syntax errors are all reported, not only the first.

use super::source::{FileId, Span};
use super::tree::{KeyValue, Node, Table, Value};
use crate::report::check::Check;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses `file`; `None` when it is not TOML, which has then been reported.
pub(crate) fn parse(check: &mut Check, file: FileId) -> Option<Table> {
    let text = check.sources.text(file).to_owned();
    let (root, errors) = DeTable::parse_recoverable(&text);
    for error in &errors {
        let bytes = error.span().unwrap_or(0..0);
        let span = Span { file, start: bytes.start, end: bytes.end };
        check.error(span, error.message().to_owned(), remedy(error.message()));
    }
    let table = convert_table(check, file, root.get_ref());
    errors.is_empty().then_some(table)
}

fn remedy(message: &str) -> Option<String> {
    let help = if message.contains("duplicate key") {
        "remove one of the two, or merge the tables"
    } else if message.contains("quot") || message.contains("string values must") {
        "write text in double quotes, as in `type = \"hf\"`"
    } else {
        "the file is TOML 1.1: https://toml.io/en/v1.1.0"
    };
    Some(help.into())
}

fn convert_table(check: &mut Check, file: FileId, table: &DeTable<'_>) -> Table {
    let entries = table.iter().map(|(key, value)| KeyValue {
        key: key.get_ref().to_string(),
        key_span: span_of(file, key),
        node: convert(check, file, value),
    });
    Table { entries: entries.collect() }
}

fn convert(check: &mut Check, file: FileId, node: &Spanned<DeValue<'_>>) -> Node {
    let span = span_of(file, node);
    let value = match node.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                check.error(span, "an integer beyond 64 bits".into(), Some("write a smaller number".into()));
                Value::Integer(0)
            }
        },
        DeValue::Float(digits) => Value::Float(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(items.iter().map(|item| convert(check, file, item)).collect()),
        DeValue::Table(table) => Value::Table(convert_table(check, file, table)),
    };
    Node { value, span }
}

fn span_of<T>(file: FileId, spanned: &Spanned<T>) -> Span {
    let bytes = spanned.span();
    Span { file, start: bytes.start, end: bytes.end }
}
