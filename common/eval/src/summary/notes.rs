//! Footnotes of a table: reasons are long, and in the cells they would make every row as wide.

use super::table_value::MissingReason;

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
