//! Faults of a data file, with the place where a person can put them right.

use compass_common::words::counted;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A fault of a data file. Lines and columns count from 1, columns in characters.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// No reader for this kind of file.
    #[error("{}: {reason}", path.display())]
    Unsupported { path: PathBuf, reason: String },
    /// Not what its name says, or cut off; nothing of what follows can be read.
    #[error("{}: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// A row that is not what its place asks for.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Row { path: PathBuf, line: usize, column: usize, message: String },
    /// As [`DataError::Row`] in a file without lines. `row` counts from 0.
    #[error("{}: row {row} (from 0): {message}", path.display())]
    RowAt { path: PathBuf, row: usize, message: String },
    /// Faults beyond the first twenty of a split.
    #[error("{}: {count} more rows are wrong", path.display())]
    More { path: PathBuf, count: usize },
    /// Two files that belong together differ in length.
    #[error(
        "{} has {rows} rows, but {} has {labels} lines: they must have as many", main.display(), other.display()
    )]
    RowCount { main: PathBuf, rows: usize, other: PathBuf, labels: usize },
    /// The request for a split does not fit what its files hold.
    #[error("{0}")]
    Split(String),
}

impl DataError {
    /// A fault at a place, which is a line where there is one.
    pub(crate) fn at(path: &Path, line: Option<usize>, row: usize, message: String) -> Self {
        let path = path.into();
        match line {
            Some(line) => Self::Row { path, line, column: 1, message },
            None => Self::RowAt { path, row, message },
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Damaged { path, .. }
            | Self::Row { path, .. }
            | Self::RowAt { path, .. }
            | Self::More { path, .. }
            | Self::RowCount { main: path, .. } => path,
            Self::Split(_) => Path::new(""),
        }
    }
}

/// Most rows of a split that are reported one by one.
const MOST_ROWS: usize = 20;

/// Faults in order: twenty rows, a count of the others, and all that concerns a whole file.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    listed: Vec<DataError>,
    /// Alike faults of rows by their message: the position in `listed`, and how many further rows have it.
    alike: HashMap<String, (usize, usize)>,
    rows: usize,
    /// The file of the last row left out.
    last: PathBuf,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: DataError) {
        if matches!(fault, DataError::Row { .. } | DataError::RowAt { .. }) {
            self.rows += 1;
            if self.rows > MOST_ROWS {
                self.last = fault.path().into();
                return;
            }
        }
        self.listed.push(fault);
    }

    /// Adds what is wrong with a row as a whole; rows of which the same is said are one fault, with how many they are.
    pub(crate) fn add_row(&mut self, path: &Path, line: Option<usize>, row: usize, message: String) {
        if let Some((_, more)) = self.alike.get_mut(&message) {
            *more += 1;
            return;
        }
        if self.rows < MOST_ROWS {
            self.alike.insert(message.clone(), (self.listed.len(), 0));
        }
        self.add(DataError::at(path, line, row, message));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// `value` when nothing was wrong.
    pub(crate) fn or<T>(mut self, value: T) -> Result<T, Vec<DataError>> {
        for (at, more) in self.alike.into_values().filter(|(_, more)| *more > 0) {
            if let Some(DataError::Row { message, .. } | DataError::RowAt { message, .. }) = self.listed.get_mut(at) {
                *message += &format!("; the same in {}", counted(more as u64, "more row"));
            }
        }
        if self.rows > MOST_ROWS {
            self.listed.push(DataError::More { path: self.last, count: self.rows - MOST_ROWS });
        }
        if self.listed.is_empty() { Ok(value) } else { Err(self.listed) }
    }
}
