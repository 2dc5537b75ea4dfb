//! An object a line.

use crate::Row;
use crate::error::DataError;
use crate::lines::{SolidLines, TextLine};
use crate::stream::{Placed, RowStream};
use compass_config::ReadOptions;
use serde_json::Value;
use std::path::Path;

pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<RowStream, DataError> {
    let (at, names) = (path.to_owned(), options.names.clone());
    Ok(Box::new(SolidLines::open(path, options.limits)?.map(move |line| {
        let line = line?;
        row(&line, &names)
            .map(|row| Placed { row, line: Some(line.number) })
            .map_err(|(column, message)| DataError::Row { path: at.clone(), line: line.number, column, message })
    })))
}

fn row(line: &TextLine, names: &[String]) -> Result<Row, (usize, String)> {
    let text = &line.text;
    match serde_json::from_str(text) {
        Ok(value) => named(value, names).map_err(|message| (1, message)),
        Err(error) => {
            let cut_off = if error.is_eof() && !line.ended { "; the file ends here, it may be cut off" } else { "" };
            Err((column_in(text, error.column()), format!("not valid JSON: {}{cut_off}", bare(&error))))
        }
    }
}

/// The row that a value is; a list is one where its items have names.
///
/// # Errors
/// In words: it is none.
pub(crate) fn named(value: Value, names: &[String]) -> Result<Row, String> {
    match value {
        Value::Object(row) => Ok(row),
        Value::Array(items) if !names.is_empty() => Ok(names.iter().cloned().zip(items).collect()),
        other => Err(format!("{}, but a row is an object {{...}}", kind_of(&other))),
    }
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
    match message.strip_suffix(&position).unwrap_or(&message) {
        "invalid unicode code point" => "a byte is not UTF-8: save the file as UTF-8".to_owned(),
        other => other.to_owned(),
    }
}

/// serde_json counts bytes; a person counts characters.
fn column_in(line: &str, byte_column: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte_column.saturating_sub(1)).count() + 1
}
