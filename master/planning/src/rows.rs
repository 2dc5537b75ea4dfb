//! The rows of a split as its range takes them, so that a fault that is found when prompts are rendered is named by its
//! file and line.

use compass_common::descriptors::is_caused_by_exhaustion;
use compass_data::{DataError, Row, SplitRows, read_split};
use compass_diagnostic::Diagnostic;
use compass_plan::prompt::{PromptError, RowSource, Split};
use compass_run_folder::PlanError;
use compass_settings::SourceConfig;
use compass_types::range::RangeSpec;
use std::borrow::Cow;

/// Faults of data.
#[derive(Debug, Default)]
pub struct Faults {
    pub found: Vec<Diagnostic>,
    /// Set if a file could not be opened for lack of file descriptors, so that nothing is known of it.
    pub lacks_descriptors: bool,
}

impl From<Vec<Diagnostic>> for Faults {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self { found, lacks_descriptors: false }
    }
}

impl Faults {
    pub(crate) fn add(&mut self, more: Self) {
        self.found.extend(more.found);
        self.lacks_descriptors |= more.lacks_descriptors;
    }

    /// # Errors
    /// There are any.
    pub(crate) fn none(self) -> Result<(), PlanError> {
        match self {
            Self { found, .. } if found.is_empty() => Ok(()),
            Self { found, lacks_descriptors: false } => Err(PlanError::Data(found)),
            Self { found, lacks_descriptors: true } => Err(PlanError::DataWithoutDescriptors(found)),
        }
    }
}

/// Rows in the order in which they are used.
#[derive(Debug, Default)]
pub struct Rows(SplitRows);

impl Rows {
    /// Reads a split and applies `range`, which is the value of `key`.
    ///
    /// # Errors
    /// Every fault of its files, or what is wrong with the range.
    pub fn read(source: &SourceConfig, key: &str, range: &RangeSpec) -> Result<Self, Faults> {
        let texts = |faults: Vec<DataError>| Faults {
            found: faults.iter().map(|fault| Diagnostic::of(fault)).collect(),
            lacks_descriptors: faults.iter().any(|fault| is_caused_by_exhaustion(fault)),
        };
        read_split(source, key, range).map_err(texts).map(Self)
    }

    /// Gives every row OpenCompass's columns `subdivision` and `idx`.
    pub fn numbered(mut self, abbr: &str) -> Self {
        self.0.number(abbr);
        self
    }

    /// Keeps the first `limit` rows.
    pub fn limited(mut self, limit: Option<u32>) -> Self {
        self.0.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
        self
    }

    /// The files that they are read from, as errors name them.
    pub fn files(&self) -> String {
        self.0.files()
    }

    /// Describes the fault when there is no row to ask.
    pub(super) fn nothing_to_ask(&self) -> Option<String> {
        let path = self.0.files();
        match (self.0.len(), self.0.in_files, self.0.kept) {
            (0, 0, _) => Some(format!("{path} is empty: write one row at least")),
            (0, rows, 0) => Some(format!("`keep` leaves none of the {rows} rows of {path}: ask less of them")),
            (0, _, rows) => {
                Some(format!("test_range takes none of the {rows} rows of {path}: widen it, or leave it out"))
            }
            _ => None,
        }
    }

    /// Describes the fault when no row at all has a column that `key` names; rows of a real set seldom lack one.
    pub(super) fn unknown_column(&self, key: &str, column: &str) -> Option<String> {
        if self.0.columns().iter().any(|known| known == column) {
            return None;
        }
        let known: Vec<String> = self.0.row(0)?.keys().map(|name| format!("`{name}`")).collect();
        let path = self.0.files();
        Some(format!("{key} names `{column}`, but no row of {path} has it: the columns are {}", known.join(", ")))
    }
}

impl RowSource for Rows {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, Row>> {
        self.0.row(at)
    }

    fn columns(&self) -> Vec<String> {
        self.0.columns()
    }
}

/// A fault of rendering with the file, and the line where there is one.
pub(super) fn located(fault: &PromptError, test: &Rows, train: &Rows) -> String {
    let split = |split: &Split| if *split == Split::Test { test } else { train };
    match fault {
        PromptError::Row { split: of, row, message } => format!("{}: {message}", split(of).0.place(*row)),
        PromptError::Retriever(message) => format!("{}: {message}", train.0.files()),
        PromptError::Template(_) | PromptError::More(_) => fault.to_string(),
    }
}
