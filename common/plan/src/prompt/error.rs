//! Errors in templates and rows, said so that they can be put right.

use std::fmt;

/// Split that a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Test,
    /// The pool that shots are drawn from.
    Train,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Train => "train",
        })
    }
}

/// Reason that prompts cannot be rendered. The caller adds the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The templates and settings do not fit together, whatever the rows.
    #[error("{0}")]
    Template(String),
    /// The retriever asks for rows that the pool does not have.
    #[error("{0}")]
    Retriever(String),
    /// A row does not fit the templates. `row` counts from 0 after the range was applied.
    #[error("{split} row {row}: {message}")]
    Row { split: Split, row: usize, message: String },
    /// Further rows are wrong; they were left out to keep the list short.
    #[error("{0} more rows are wrong")]
    More(usize),
}

/// Most rows that are reported one by one.
pub(super) const MOST_ROWS: usize = 20;

/// Collects errors of rows, each row once, and counts those beyond [`MOST_ROWS`].
#[derive(Debug, Default)]
pub(super) struct RowErrors {
    listed: Vec<PromptError>,
    more: usize,
}

impl RowErrors {
    pub(super) fn add(&mut self, split: Split, row: usize, message: String) {
        if self.listed.len() < MOST_ROWS {
            self.listed.push(PromptError::Row { split, row, message });
        } else {
            self.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<PromptError> {
        if self.more > 0 {
            self.listed.push(PromptError::More(self.more));
        }
        self.listed
    }
}
