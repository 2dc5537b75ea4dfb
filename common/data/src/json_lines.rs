//! An object a line.

use crate::Row;
use crate::error::DataError;
use crate::json_spans::bare;
use crate::json_spans::offset;
use crate::lines::{SolidLines, TextLine};
use crate::row_stream::{Placed, RowStream};
use compass_pyfmt::{digits_beyond_64_bits, python_json_word, whole_numbers_kept};
use compass_settings::ReadOptions;
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
    match parse(text) {
        Ok(value) => named(value, names).map_err(|message| (1, message)),
        Err(fault) => {
            let cut_off = if fault.is_eof && !line.ended { "; the file ends here, it may be cut off" } else { "" };
            Err((column_in(text, fault.at), format!("not valid JSON: {}{cut_off}", fault.message)))
        }
    }
}

/// Fault that keeps a text from being JSON.
#[derive(Debug)]
pub(crate) struct JsonFault {
    /// The byte at which it is found, from 0.
    pub(crate) at: usize,
    pub(crate) message: String,
    /// Set if the text ends too early.
    is_eof: bool,
}

/// A JSON value. A whole number beyond 64 bits keeps its digits ([`digits_beyond_64_bits`]).
///
/// # Errors
/// Where the text is not JSON. The words that Python's `json` has for floats that are no numbers are told by their name.
pub(crate) fn parse(text: &str) -> Result<Value, JsonFault> {
    let written = whole_numbers_kept(text);
    serde_json::from_str(&written).map_err(|error| {
        // The place is in the text as it stands in the file.
        fault(text, serde_json::from_str::<Value>(text).err().unwrap_or(error))
    })
}

fn fault(text: &str, error: serde_json::Error) -> JsonFault {
    let at = offset(text.as_bytes(), error.line(), error.column());
    match python_json_word(text).filter(|(start, word)| (*start..=start + word.len()).contains(&at)) {
        Some((at, word)) => {
            let message = format!("`{word}` is a word of Python's json alone: write null, or the text \"{word}\"");
            JsonFault { at, message, is_eof: false }
        }
        None => JsonFault { at, message: bare(&error), is_eof: error.is_eof() },
    }
}

/// The row that a value is; a list is one where its items have names.
///
/// # Errors
/// In words: it is none.
pub(crate) fn named(value: Value, names: &[String]) -> Result<Row, String> {
    match value {
        number if digits_beyond_64_bits(&number).is_some() => Err("a number, but a row is an object {...}".into()),
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
        value if digits_beyond_64_bits(value).is_some() => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The column of a byte, as a person counts it.
fn column_in(line: &str, byte: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}
