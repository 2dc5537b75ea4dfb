//! What is wrong with a data file, with the place where a person can put it right.

use std::io;
use std::path::{Path, PathBuf};

/// A fault of a data file. Lines and columns count from 1, columns in characters.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// No reader for this kind of file.
    #[error("{}: {extension} is not read yet; .jsonl (one object a line) and .json (a list of objects) are", path.display())]
    Unsupported { path: PathBuf, extension: String },
    /// A row that is not what its place asks for.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Row { path: PathBuf, line: usize, column: usize, message: String },
    /// Faults beyond the first twenty of a file.
    #[error("{}: {count} more rows are wrong", path.display())]
    More { path: PathBuf, count: usize },
    /// Two files that belong together differ in length.
    #[error(
        "{} has {rows} rows, but {} has {labels} lines: they must have as many", main.display(), other.display()
    )]
    RowCount { main: PathBuf, rows: usize, other: PathBuf, labels: usize },
    /// A column that is to be added is there already.
    #[error("{}: row {row} (from 0) has a column `{column}` already, which {} would replace", main.display(), other.display())]
    ColumnTaken { main: PathBuf, row: usize, column: String, other: PathBuf },
}

/// Most rows of a file that are reported one by one.
const MOST_ROWS: usize = 20;

/// The faults of one file: the first twenty and a count of the rest.
#[derive(Debug)]
pub(crate) struct Faults<'a> {
    path: &'a Path,
    listed: Vec<DataError>,
    more: usize,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(path: &'a Path) -> Self {
        Self { path, listed: Vec::new(), more: 0 }
    }

    pub(crate) fn add(&mut self, line: usize, column: usize, message: impl Into<String>) {
        if self.listed.len() < MOST_ROWS {
            self.listed.push(DataError::Row { path: self.path.into(), line, column, message: message.into() });
        } else {
            self.more += 1;
        }
    }

    /// `value` when nothing was wrong.
    pub(crate) fn or<T>(mut self, value: T) -> Result<T, Vec<DataError>> {
        if self.more > 0 {
            self.listed.push(DataError::More { path: self.path.into(), count: self.more });
        }
        if self.listed.is_empty() { Ok(value) } else { Err(self.listed) }
    }
}
