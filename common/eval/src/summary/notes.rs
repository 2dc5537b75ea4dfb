//! Footnotes of a table: reasons are long, and in the cells they would make every row as wide.

use super::figure::Lack;

/// The reasons in the order of their first mention, each once, and remarks on numbers that are there.
#[derive(Debug, Default)]
pub(super) struct Notes {
    lacks: Vec<Lack>,
    remarks: Vec<String>,
}

impl Notes {
    /// No reason yet.
    pub(super) fn with_remarks(remarks: &[String]) -> Self {
        Self { lacks: Vec::new(), remarks: remarks.to_vec() }
    }

    /// The number of the note that gives this reason, from 1.
    pub(super) fn number(&mut self, lack: &Lack) -> usize {
        let known = self.lacks.iter().position(|other| other == lack);
        known.unwrap_or_else(|| {
            self.lacks.push(lack.clone());
            self.lacks.len() - 1
        }) + 1
    }

    /// `[1] withheld: ...`, then the remarks, a line each, without line breaks.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let line = |(at, lack): (usize, &Lack)| format!("[{}] {lack}", at + 1).replace(['\n', '\r'], " ");
        self.lacks.iter().enumerate().map(line).chain(self.remarks.iter().cloned())
    }
}
