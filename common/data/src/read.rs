//! The entrance: picks the reader by the file's extension.

use crate::error::{DataError, Faults};
use crate::{Row, json_list, lines};
use serde_json::Value;
use std::path::Path;

/// Reads a data file whole.
///
/// `.jsonl` holds an object a line; `.json` a list of objects, or an object a line despite its name (as AQuA's does).
///
/// # Errors
/// Every fault of the file, as far as twenty rows and a count of the rest.
pub fn read(path: &Path) -> Result<Vec<Row>, Vec<DataError>> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("jsonl") => json_lines(path, &lines::load(path)?),
        Some("json") => {
            let bytes = lines::load(path)?;
            match bytes.trim_ascii_start().first() {
                Some(b'[') => json_list::read(path, &bytes),
                _ => json_lines_or_object(path, &bytes),
            }
        }
        other => {
            let extension = other.map_or_else(|| "a file without extension".into(), |name| format!(".{name}"));
            Err(vec![DataError::Unsupported { path: path.into(), extension }])
        }
    }
}

fn json_lines(path: &Path, bytes: &[u8]) -> Result<Vec<Row>, Vec<DataError>> {
    let mut faults = Faults::new(path);
    let mut rows = Vec::new();
    for (line, text) in lines::split(bytes) {
        match text.and_then(row) {
            Ok(row) => rows.push(row),
            Err((column, message)) => faults.add(line, column, message),
        }
    }
    faults.or(rows)
}

fn row(text: &str) -> Result<Row, (usize, String)> {
    match serde_json::from_str(text) {
        Ok(Value::Object(row)) => Ok(row),
        Ok(other) => Err((1, format!("{}, but a row is an object {{...}}", kind_of(&other)))),
        Err(error) => Err((column_in(text, error.column()), format!("not valid JSON: {}", bare(&error)))),
    }
}

/// A file that is one object, as BBH's are, holds its rows somewhere inside: say so instead of complaining of each line.
fn json_lines_or_object(path: &Path, bytes: &[u8]) -> Result<Vec<Row>, Vec<DataError>> {
    if let Ok(Value::Object(whole)) = serde_json::from_slice(bytes) {
        let lists: Vec<String> =
            whole.iter().filter(|(_, value)| holds_rows(value)).map(|(key, _)| format!("`{key}`")).collect();
        if !lists.is_empty() {
            let mut faults = Faults::new(path);
            faults.add(
                1,
                1,
                format!("one object, not a list of rows: write the list under {} alone", lists.join(" or ")),
            );
            return faults.or(Vec::new());
        }
        return Ok(vec![whole]);
    }
    json_lines(path, bytes)
}

fn holds_rows(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The message without the position that serde_json appends to it.
pub(crate) fn bare(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

/// serde_json counts bytes; a person counts characters.
fn column_in(line: &str, byte_column: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte_column.saturating_sub(1)).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_text(name: &str, bytes: impl AsRef<[u8]>) -> Result<Vec<Row>, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let prefix = folder.path().display().to_string() + "/";
        read(&path).map_err(|errors| errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect())
    }

    #[test]
    fn lines_in_every_disguise() {
        let rows = read_text("a.jsonl", "\u{feff}{\"z\": 1, \"a\": \"x\u{2028}y\"}\r\n{\"z\": 2}\r\n\r\n\n").unwrap();
        assert_eq!(
            Value::Array(rows.iter().cloned().map(Value::Object).collect()),
            json!([{"z": 1, "a": "x\u{2028}y"}, {"z": 2}])
        );
        assert_eq!(rows[0].keys().collect::<Vec<_>>(), ["z", "a"], "columns in the order of the file");
        assert_eq!(read_text("a.json", "{\"a\": 1}\n{\"a\": 2}\n").unwrap().len(), 2);
        assert_eq!(read_text("a.json", "{\"a\": 1}").unwrap().len(), 1);
        assert_eq!(read_text("a.jsonl", "").unwrap().len(), 0);
    }

    #[test]
    fn every_bad_line_is_named() {
        let errors =
            read_text("a.jsonl", b"{\"a\": 1}\n\n{\"\xc3\xa9\": x}\n[1]\n{\"a\": \"\xff\"}\n{\"a\": 1}\n").unwrap_err();
        assert_eq!(
            errors,
            [
                "a.jsonl:2:1: a blank line between rows: remove it, or write the row that is missing",
                "a.jsonl:3:7: not valid JSON: expected value",
                "a.jsonl:4:1: a list, but a row is an object {...}",
                "a.jsonl:5:8: byte 0xff is not UTF-8",
            ]
        );
        let many = read_text("a.jsonl", "oops\n".repeat(50)).unwrap_err();
        assert_eq!(many.len(), 21);
        assert_eq!(many[20], "a.jsonl: 30 more rows are wrong");
    }

    #[test]
    fn other_shapes_and_kinds_are_refused_with_a_way_out() {
        let errors = read_text("a.json", "{\n\"canary\": \"\",\n\"examples\": [{\"input\": 1}]}").unwrap_err();
        assert_eq!(errors, ["a.json:1:1: one object, not a list of rows: write the list under `examples` alone"]);
        let errors = read_text("a.csv", "a,b").unwrap_err();
        assert!(errors[0].starts_with("a.csv: .csv is not read yet; .jsonl"), "{errors:?}");
        let missing = read(Path::new("nowhere/a.jsonl")).unwrap_err();
        assert!(matches!(missing[0], DataError::Read { .. }));
    }
}
