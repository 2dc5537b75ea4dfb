//! Rows one after the other, whatever they are read from: a file's rows are held only where they are wanted.

use crate::Row;
use crate::error::DataError;
use crate::row_stream::RowStream;
use crate::{delimited, json_document, json_lines, text_rows};
use compass_settings::{FileFormat, ReadOptions};
use std::path::Path;

/// Opens a data file. Files compressed with gzip are read as what is in them. Of `skip` a columnar file need not read
/// anything; other formats give these columns all the same.
///
/// # Errors
/// The file cannot be opened, or is in no known format.
pub fn open(path: &Path, options: &ReadOptions, skip: &[String]) -> Result<RowStream, DataError> {
    match options.format.or_else(|| FileFormat::of(path)) {
        Some(FileFormat::Jsonl) => json_lines::open(path, options),
        Some(FileFormat::Json) => json_document::open(path, options),
        Some(FileFormat::Csv) => delimited::open(path, options, ',', true),
        Some(FileFormat::Tsv) => delimited::open(path, options, '\t', false),
        Some(FileFormat::Txt) => text_rows::open(path, options),
        Some(format @ (FileFormat::Parquet | FileFormat::Arrow)) => columnar(path, format, skip),
        None => Err(DataError::Unsupported {
            path: path.into(),
            reason: "its name does not tell what it holds: write `format = \"jsonl\"`, or another".into(),
        }),
    }
}

#[cfg(feature = "columnar")]
fn columnar(path: &Path, format: FileFormat, skip: &[String]) -> Result<RowStream, DataError> {
    crate::columnar::open(path, format, skip)
}

#[cfg(not(feature = "columnar"))]
fn columnar(path: &Path, format: FileFormat, _: &[String]) -> Result<RowStream, DataError> {
    let reason = format!("this build reads no {}: build it with the feature `columnar`", format.name());
    Err(DataError::Unsupported { path: path.into(), reason })
}

/// Reads a file whole, by the end of its name.
///
/// # Errors
/// Every fault of the file, as far as twenty rows and a count of the rest.
pub fn read(path: &Path) -> Result<Vec<Row>, Vec<DataError>> {
    let mut faults = crate::error::Faults::default();
    let mut rows = Vec::new();
    match open(path, &ReadOptions::default(), &[]) {
        Ok(stream) => stream.for_each(|row| match row {
            Ok(placed) => rows.push(placed.row),
            Err(fault) => faults.add(fault),
        }),
        Err(fault) => faults.add(fault),
    }
    faults.or(rows)
}
