//! Parquet and Arrow files, a batch of rows at a time. Columns come in the order of the schema.

use crate::Row;
use crate::arrow_value;
use crate::bytes::open_fault;
use crate::error::DataError;
use crate::guarded::guarded;
use crate::row_stream::{Placed, RowStream};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, Schema};
use compass_common::regular_file;
use compass_settings::FileFormat;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Rows that are decoded at once: few, as a row of a long-context set may be a megabyte.
const BATCH: usize = 256;
/// Bytes that an Arrow file begins with, and a stream does not.
const ARROW_FILE: &[u8] = b"ARROW1";
/// Bytes that a stream ends with if it was written to its end.
const END_OF_STREAM: &[u8] = b"\xff\xff\xff\xff\0\0\0\0";

/// Fault of a file over which its reader stumbled.
const NO_SENSE: &str = "its lengths and offsets make no sense";

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// Opens a file; columns named in `skip` are not read.
pub(crate) fn open(path: &Path, format: FileFormat, skip: &[String]) -> Result<RowStream, DataError> {
    let mut file = regular_file::open(path).map_err(|error| open_fault(path, error))?;
    let (what, opened) = match format {
        FileFormat::Parquet => {
            let opened = guarded(|| parquet(file, skip));
            ("Parquet file", opened.map(|opened| opened.map_err(|error| error.to_string())))
        }
        _ => {
            let is_file = is_file(&mut file).map_err(|source| DataError::Read { path: path.into(), source })?;
            let opened = guarded(|| if is_file { arrow_file(file, skip) } else { arrow_stream(file, skip) });
            ("Arrow file or stream", opened.map(|opened| opened.map_err(|error| error.to_string())))
        }
    };
    let opened = opened.unwrap_or_else(|| Err(NO_SENSE.into()));
    let batches = opened.map_err(|error| damaged(path, what, &error))?;
    Ok(Box::new(Batched { path: path.into(), batches, batch: None, at: 0, row: 0 }))
}

fn damaged(path: &Path, what: &str, error: &str) -> DataError {
    let error = error.lines().next().unwrap_or_default();
    let reason = format!("not a whole {what} ({error}): it is cut off or damaged; copy or download it again");
    DataError::Damaged { path: path.into(), reason }
}

fn parquet(file: File, skip: &[String]) -> Result<Batches, parquet::errors::ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(BATCH);
    let roots = kept(builder.schema(), skip);
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    Ok(Box::new(builder.with_projection(mask).build()?))
}

/// The positions of the columns that are read.
fn kept(schema: &Schema, skip: &[String]) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| !skip.contains(field.name())).map(|(at, _)| at).collect()
}

fn is_file(file: &mut File) -> std::io::Result<bool> {
    let mut start = Vec::new();
    file.take(ARROW_FILE.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == ARROW_FILE)
}

fn arrow_file(file: File, skip: &[String]) -> Result<Batches, ArrowError> {
    // A reader is told its columns before it knows the schema, so the file is opened twice.
    let columns = kept(&FileReader::try_new(BufReader::new(&file), None)?.schema(), skip);
    Ok(Box::new(FileReader::try_new(BufReader::new(file), Some(columns))?))
}

fn arrow_stream(mut file: File, skip: &[String]) -> Result<Batches, ArrowError> {
    // A stream that stops between two batches looks whole to a reader; only the mark says that it is.
    let mut end = Vec::new();
    let io = |error: std::io::Error| ArrowError::IoError(error.to_string(), error);
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    let tail = length.min(END_OF_STREAM.len() as u64);
    file.seek(SeekFrom::End(-(tail as i64))).map_err(io)?;
    file.read_to_end(&mut end).map_err(io)?;
    if end != END_OF_STREAM {
        return Err(ArrowError::IpcError("the end mark is missing".into()));
    }
    file.rewind().map_err(io)?;
    let columns = kept(&StreamReader::try_new(BufReader::new(&file), None)?.schema(), skip);
    file.rewind().map_err(io)?;
    Ok(Box::new(StreamReader::try_new(BufReader::new(file), Some(columns))?))
}

struct Batched {
    path: PathBuf,
    batches: Batches,
    batch: Option<RecordBatch>,
    /// Position in the batch.
    at: usize,
    /// Position in the file.
    row: usize,
}

impl Iterator for Batched {
    type Item = Result<Placed, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.at < batch.num_rows()) {
                let at = self.at;
                let row = guarded(|| row(batch, at)).unwrap_or_else(|| Err(NO_SENSE.into()));
                let row = row.map(|row| Placed { row, line: None });
                let row = row.map_err(|message| DataError::at(&self.path, None, self.row, message));
                self.at += 1;
                self.row += 1;
                return Some(row);
            }
            self.at = 0;
            let batches = &mut self.batches;
            let error = match guarded(|| batches.next()) {
                Some(None) => return None,
                Some(Some(Ok(batch))) => {
                    self.batch = Some(batch);
                    continue;
                }
                Some(Some(Err(error))) => error.to_string(),
                None => NO_SENSE.into(),
            };
            self.batch = None;
            self.batches = Box::new(std::iter::empty());
            return Some(Err(damaged(&self.path, "file", &format!("after row {}: {error}", self.row))));
        }
    }
}

fn row(batch: &RecordBatch, at: usize) -> Result<Row, String> {
    let schema = batch.schema_ref();
    let columns = schema.fields().iter().zip(batch.columns());
    let values = columns.map(|(field, column)| {
        let value = arrow_value::value(column.as_ref(), at);
        value.map(|value| (field.name().clone(), value)).map_err(|why| format!("column `{}`: {why}", field.name()))
    });
    values.collect()
}
