//! Plain text: a row a line, or one row for the whole file, with the text in one column.

use crate::Row;
use crate::bytes;
use crate::error::DataError;
use crate::lines::Lines;
use crate::row_stream::{Placed, RowStream};
use compass_settings::ReadOptions;
use std::path::Path;

/// The column, unless `names` says otherwise; the Hugging Face hub's text reader calls it so too.
const COLUMN: &str = "text";

/// Blank lines are rows: between paragraphs they are part of the text.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<RowStream, DataError> {
    let column = options.names.first().map_or(COLUMN, String::as_str).to_owned();
    let row = move |text: String| Row::from_iter([(column.clone(), text.into())]);
    if options.whole {
        let text = String::from_utf8(bytes::load(path, options.limits)?).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            let message = format!("byte 0x{:02x} is not UTF-8", error.as_bytes()[valid]);
            DataError::at(path, Some(line), 0, message)
        })?;
        return Ok(Box::new(std::iter::once(Ok(Placed { row: row(text), line: Some(1) }))));
    }
    let lines = Lines::open(path, options.limits)?;
    Ok(Box::new(lines.map(move |line| line.map(|line| Placed { row: row(line.text), line: Some(line.number) }))))
}
