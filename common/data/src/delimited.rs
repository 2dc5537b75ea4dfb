//! Separated values, as Python's `csv` module splits them: quoted fields may hold the delimiter, line breaks and doubled
//! quotation marks, blank lines are skipped. Every value is a text.

use crate::bytes;
use crate::error::DataError;
use crate::quotes::{Quotes, TooLong};
use crate::row_stream::{Placed, RowStream};
use compass_settings::{ReadLimits, ReadOptions};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Opens a file whose format has this delimiter and way of quoting, where `options` do not say otherwise.
pub(crate) fn open(path: &Path, options: &ReadOptions, delimiter: char, quoted: bool) -> Result<RowStream, DataError> {
    let delimiter = u8::try_from(options.delimiter.unwrap_or(delimiter)).unwrap_or(b',');
    let (quoted, limits) = (options.quoted.unwrap_or(quoted), options.limits);
    let bytes = Quotes::new(bytes::open(path)?, delimiter, quoted, limits.line_bytes());
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        // The number of fields is checked here, where the names of the columns are known.
        .flexible(true)
        .delimiter(delimiter)
        .quoting(quoted)
        .from_reader(bytes);
    let mut names = options.names.clone();
    let mut lines = Lines::default();
    if options.header {
        let mut header = ByteRecord::new();
        let has_header = reader.read_byte_record(&mut header).map_err(|error| fault(path, limits, error))?;
        unclosed(path, &reader)?;
        if has_header {
            let line = lines.of(&header, &reader);
            let fields = texts(path, &header, line, &[])?;
            names = named(path, fields, names, line)?;
        }
    }
    let (path, record) = (path.into(), ByteRecord::new());
    Ok(Box::new(Delimited { path, reader, limits, names, lines, record, done: false }))
}

struct Delimited {
    path: PathBuf,
    reader: Reader<Quotes>,
    limits: ReadLimits,
    names: Vec<String>,
    lines: Lines,
    record: ByteRecord,
    done: bool,
}

impl Iterator for Delimited {
    type Item = Result<Placed, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = self.reader.read_byte_record(&mut self.record);
        if let Err(fault) = unclosed(&self.path, &self.reader) {
            self.done = true;
            return Some(Err(fault));
        }
        match read {
            Ok(true) => Some(self.row()),
            Ok(false) => None,
            Err(error) => {
                self.done = true;
                Some(Err(fault(&self.path, self.limits, error)))
            }
        }
    }
}

impl Delimited {
    fn row(&mut self) -> Result<Placed, DataError> {
        let line = self.lines.of(&self.record, &self.reader);
        let fields = texts(&self.path, &self.record, line, &self.names)?;
        if fields.len() != self.names.len() {
            let (fields, columns) = (fields.len(), self.names.len());
            let columns = format!("{columns} ({})", self.names.join(", "));
            return Err(DataError::at(
                &self.path,
                Some(line),
                0,
                format!("{fields} fields, but the columns are {columns}"),
            ));
        }
        let row = self.names.iter().cloned().zip(fields.into_iter().map(Into::into)).collect();
        Ok(Placed { row, line: Some(line) })
    }
}

/// The columns of a header, under other names where they are given.
fn named(path: &Path, header: Vec<String>, names: Vec<String>, line: usize) -> Result<Vec<String>, DataError> {
    let fault = |message| Err(DataError::at(path, Some(line), 0, message));
    if !names.is_empty() {
        if names.len() != header.len() {
            return fault(format!("the header has {} fields, but `names` has {}", header.len(), names.len()));
        }
        return Ok(names);
    }
    // The index that pandas writes has no name; it reads it back under this one.
    let name = |(at, name): (usize, String)| if name.is_empty() { format!("Unnamed: {at}") } else { name };
    let header: Vec<String> = header.into_iter().enumerate().map(name).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = header.iter().find(|name| !seen.insert(*name)) {
        return fault(format!("the header names `{twice}` twice: give other names with `names = [...]`"));
    }
    Ok(header)
}

fn texts(path: &Path, record: &ByteRecord, line: usize, names: &[String]) -> Result<Vec<String>, DataError> {
    let text = |(at, field): (usize, &[u8])| {
        String::from_utf8(field.to_vec()).map_err(|error| {
            let byte = error.as_bytes()[error.utf8_error().valid_up_to()];
            let column =
                names.get(at).map_or_else(|| format!("field {at} (from 0)"), |name| format!("column `{name}`"));
            DataError::at(path, Some(line), 0, format!("byte 0x{byte:02x} in {column} is not UTF-8"))
        })
    };
    record.iter().enumerate().map(text).collect()
}

/// Finds the lines that records begin on. The library says where it stood before the blank lines ahead of a record, and
/// of a `\r\n` it leaves the `\n` for the next.
#[derive(Debug, Default)]
struct Lines {
    /// Set to `true` if lines end in `\r
    /// `, told by the first record.
    is_crlf: Option<bool>,
}

impl Lines {
    /// The line of the record that was read last, from 1.
    fn of(&mut self, record: &ByteRecord, reader: &Reader<Quotes>) -> usize {
        let within: usize = record.iter().map(|field| field.iter().filter(|byte| **byte == b'\n').count()).sum();
        let after = reader.position().line() as usize - within;
        let before = record.position().map_or(1, |position| position.line() as usize);
        let is_crlf = *self.is_crlf.get_or_insert(after == before);
        if is_crlf { after } else { before.max(after - 1) }
    }
}

/// A quotation mark that is never closed. The record that it opened holds the rest of the file, and is none.
fn unclosed(path: &Path, reader: &Reader<Quotes>) -> Result<(), DataError> {
    let Some(place) = reader.get_ref().unclosed() else { return Ok(()) };
    let message = "a quotation mark is opened here and never closed, so that the rest of the file would be one value: \
                   close it, double it where it is part of a text, or write `quoted = false`";
    let (line, column) = (place.line, place.column);
    Err(DataError::Row { path: path.into(), line, column, message: message.into() })
}

fn fault(path: &Path, limits: ReadLimits, error: csv::Error) -> DataError {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()) {
            Some(TooLong { line }) => DataError::at(path, Some(*line), 0, bytes::line_too_long(limits)),
            None => bytes::read_fault(path, error),
        },
        _ => DataError::Damaged { path: path.into(), reason: text },
    }
}
