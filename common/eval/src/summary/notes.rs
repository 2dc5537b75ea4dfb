//! Footnotes of a table: reasons are long, and in the cells they would make every row as wide.

use std::fmt;

/// Text that OpenCompass prints where there is nothing.
pub(super) const NOT_ASKED: &str = "-";

/// Reason that there is no number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MissingReason {
    /// One word for a cell.
    pub(super) kind: &'static str,
    /// The rest of the sentence.
    pub(super) reason: String,
}

impl MissingReason {
    /// The samples were to be scored, and no number can stand on what came of them.
    pub(super) fn withheld(reason: String) -> Self {
        Self { kind: "withheld", reason }
    }

    /// There is nothing yet.
    pub(super) fn missing(reason: String) -> Self {
        Self { kind: "missing", reason }
    }

    /// There are numbers, and this is not one of them.
    pub(super) fn none(reason: String) -> Self {
        Self { kind: "none", reason }
    }

    /// Nothing was asked; with a reason where a part was.
    pub(super) fn not_asked(reason: String) -> Self {
        Self { kind: NOT_ASKED, reason }
    }

    /// Returns whether there should be a number.
    pub(super) fn is_asked(&self) -> bool {
        self.kind != NOT_ASKED
    }
}

impl fmt::Display for MissingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "" => f.write_str(self.kind),
            reason => write!(f, "{}: {reason}", self.kind),
        }
    }
}

/// The reasons in the order of their first mention, each once, and remarks on numbers that are there.
#[derive(Debug, Default)]
pub(super) struct Notes {
    lacks: Vec<MissingReason>,
    remarks: Vec<String>,
}

impl Notes {
    /// No reason yet.
    pub(super) fn with_remarks(remarks: &[String]) -> Self {
        Self { lacks: Vec::new(), remarks: remarks.to_vec() }
    }

    /// The number of the note that gives this reason, from 1.
    pub(super) fn number(&mut self, reason: &MissingReason) -> usize {
        let known = self.lacks.iter().position(|other| other == reason);
        known.unwrap_or_else(|| {
            self.lacks.push(reason.clone());
            self.lacks.len() - 1
        }) + 1
    }

    /// `[1] withheld: ...`, then the remarks, a line each, without line breaks.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let line = |(at, reason): (usize, &MissingReason)| format!("[{}] {reason}", at + 1).replace(['\n', '\r'], " ");
        self.lacks.iter().enumerate().map(line).chain(self.remarks.iter().cloned())
    }
}
