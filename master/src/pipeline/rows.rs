//! The rows of a split as its range takes them, and where in the file each of them stands, so that a fault that is found
//! when prompts are rendered is named by its line.

use compass_common::config::SourceConfig;
use compass_common::prompt::{PromptError, Split};
use compass_common::range::RangeSpec;
use compass_data::{DataError, Row};
use std::path::PathBuf;

/// Rows in the order in which they are used.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    path: PathBuf,
    /// Position in the file, from 0, of each row.
    places: Vec<usize>,
    /// Rows of the file before the range was applied.
    in_file: usize,
}

impl Rows {
    /// Reads a split whole and applies `range`, which is the value of `key`.
    ///
    /// # Errors
    /// Every fault of its files, or what is wrong with the range.
    pub(super) fn read(source: &SourceConfig, key: &str, range: &RangeSpec) -> Result<Self, Vec<String>> {
        let texts = |faults: Vec<DataError>| faults.iter().map(|fault| with_cause(fault)).collect::<Vec<_>>();
        let mut rows = compass_data::read(&source.path).map_err(texts)?;
        for column in &source.columns {
            let values = compass_data::read_lines(&column.lines_of, column.as_int).map_err(texts)?;
            compass_data::add_column(&mut rows, &source.path, &column.name, values, &column.lines_of)
                .map_err(|fault| texts(vec![fault]))?;
        }
        let in_file = rows.len();
        let picked = compass_data::apply_range(range, in_file).map_err(|fault| vec![format!("{key}: {fault}")])?;
        let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
        let mut taken = Self { path: source.path.clone(), in_file, ..Self::default() };
        for at in picked {
            // A range may name a row twice (chained slices do not, but nothing forbids it).
            if let Some(row) = rows.get_mut(at).and_then(Option::take) {
                taken.rows.push(row);
                taken.places.push(at);
            }
        }
        Ok(taken)
    }

    /// Keeps the first `limit` rows.
    pub(super) fn limited(mut self, limit: Option<u32>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        self.rows.truncate(limit);
        self.places.truncate(limit);
        self
    }

    /// What is wrong when there is no row to ask.
    pub(super) fn nothing_to_ask(&self) -> Option<String> {
        let path = self.path.display();
        match (self.rows.len(), self.in_file) {
            (0, 0) => Some(format!("{path} is empty: write one row at least")),
            (0, rows) => Some(format!("test_range takes none of the {rows} rows of {path}: widen it, or leave it out")),
            _ => None,
        }
    }

    /// What is wrong when no row at all has a column that `key` names; rows of a real set seldom lack one.
    pub(super) fn unknown_column(&self, key: &str, column: &str) -> Option<String> {
        if self.rows.iter().any(|row| row.contains_key(column)) {
            return None;
        }
        let known: Vec<String> = self.rows.first()?.keys().map(|name| format!("`{name}`")).collect();
        let path = self.path.display();
        Some(format!("{key} names `{column}`, but no row of {path} has it: the columns are {}", known.join(", ")))
    }

    /// Where row `at` of what was taken stands: `path:line:1`, or its position in a list.
    fn place(&self, at: usize) -> String {
        let (path, at) = (self.path.display(), self.places.get(at).copied().unwrap_or(at));
        if self.path.extension().is_some_and(|extension| extension == "jsonl") {
            format!("{path}:{}:1", at + 1)
        } else {
            format!("{path}: row {at} (from 0)")
        }
    }
}

/// A fault of rendering with the file, and the line where there is one.
pub(super) fn located(fault: &PromptError, test: &Rows, train: &Rows) -> String {
    let split = |split: &Split| if *split == Split::Test { test } else { train };
    match fault {
        PromptError::Row { split: of, row, message } => format!("{}: {message}", split(of).place(*row)),
        PromptError::Retriever(message) => format!("{}: {message}", train.path.display()),
        PromptError::Template(_) | PromptError::More(_) => fault.to_string(),
    }
}

/// `what: why`.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
