//! A split once checked: which files, how they are read, what is made of their rows.

use super::expression::{ColumnConfig, Condition, Repeat};
use super::file_format::FileFormat;
use compass_diagnostic::Origin;
use compass_plan::evaluation::Orders;
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;

/// The files of a split, which existed when the configuration was read, and what is made of their rows, in the order of
/// the fields. The grammar stands with [`Expression`](super::Expression).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SourceConfig {
    /// Read one after the other; never empty.
    pub files: Vec<SourceFile>,
    pub read: ReadOptions,
    /// The column that is given each file's [`SourceFile::name`], before all others.
    pub file_column: Option<String>,
    /// Columns for each of whose values there is a row, the later ones within the earlier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<(String, Repeat)>,
    pub columns: Vec<ColumnConfig>,
    /// List columns whose items become columns of these names.
    pub lists_to_columns: Vec<(String, Vec<String>)>,
    /// All must hold.
    pub keep: Vec<Condition>,
    /// Rows that there are, of those that the conditions leave: the others might as well not be in the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<Range<usize>>,
    pub drop_columns: Vec<String>,
    /// Columns that stand first, in this order.
    pub order: Vec<String>,
    /// With any, the row has these alone, in this order.
    pub only: Vec<String>,
    /// Orders of options in which each of these rows comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circular: Option<CircularConfig>,
    /// Place where `path` is given, for errors found when the data is read. No number depends on it, so no digest does.
    #[serde(skip)]
    pub origin: Origin,
}

impl SourceConfig {
    /// Returns `true` if both are the same rows in the same order, wherever in the configuration that is said.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        // What is serialized holds no origins. JSON refuses paths that are not UTF-8; such splits count as different.
        let contents = |source: &Self| serde_json::to_vec(source).ok();
        contents(self).is_some_and(|rows| contents(other) == Some(rows))
    }
}

/// A data file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    pub path: PathBuf,
    /// Text that `*` stood for in its path; without one the file's name up to its kind.
    pub name: String,
}

/// Options for reading the files of a split; what does not concern their format is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadOptions {
    /// `None`: by the end of each name.
    pub format: Option<FileFormat>,
    /// csv, tsv: whether the first row names the columns.
    pub header: bool,
    /// csv, tsv: names of the columns, in place of the header's; of txt the one column's; json, jsonl: of rows that are
    /// lists, for their first items.
    pub names: Vec<String>,
    /// csv, tsv: one ASCII character; `None` is the format's own.
    pub delimiter: Option<char>,
    /// csv, tsv: whether `"` quotes; `None`: in csv it does, in tsv it does not.
    pub quoted: Option<bool>,
    /// json: the path to the rows inside the document.
    pub rows: Vec<String>,
    /// json: the rows are the values of an object, whose keys become this column, which stands first.
    pub key_column: Option<String>,
    /// txt: the file is one row.
    pub whole: bool,
    /// Most that is held at once. No number depends on it, so no digest does.
    #[serde(skip)]
    pub limits: ReadLimits,
}

/// Most that is held of a file at once: what is longer is an error, or a small compressed file would fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// A line, or a record of csv and tsv, in millions of bytes.
    pub line_mb: u32,
    /// A document that is read whole (json, txt with `whole`), in millions of bytes.
    pub document_mb: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { line_mb: 64, document_mb: 1024 }
    }
}

impl ReadLimits {
    const MB: u64 = 1_000_000;

    /// Most bytes of a line.
    pub fn line_bytes(self) -> u64 {
        u64::from(self.line_mb) * Self::MB
    }

    /// Most bytes of a document.
    pub fn document_bytes(self) -> u64 {
        u64::from(self.document_mb) * Self::MB
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            header: true,
            names: Vec::new(),
            delimiter: None,
            quoted: None,
            rows: Vec::new(),
            key_column: None,
            whole: false,
            limits: ReadLimits::default(),
        }
    }
}

/// Options that stand in several orders: a row for each of them, with the columns `qid` (which question, from 0) and
/// `circular_pattern` (the option that each option has become).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CircularConfig {
    /// Columns of the options, in the order of the data.
    pub options: Vec<String>,
    /// Column of the right answer.
    pub answer: String,
    /// Texts of the right answer, one for each option in order; empty where the answer names the column of the option.
    pub answers: Vec<String>,
    pub patterns: Orders,
}
