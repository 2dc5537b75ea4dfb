//! Footnotes of a table: reasons are long, and in the cells they would make every row as wide.

use super::figure::Lack;

/// The reasons in the order of their first mention, each once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Lack>);

impl Notes {
    /// The number of the note that gives this reason, from 1.
    pub(super) fn number(&mut self, lack: &Lack) -> usize {
        let known = self.0.iter().position(|other| other == lack);
        known.unwrap_or_else(|| {
            self.0.push(lack.clone());
            self.0.len() - 1
        }) + 1
    }

    /// `[1] withheld: ...`, a line each, without line breaks.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let line = |(at, lack): (usize, &Lack)| format!("[{}] {lack}", at + 1).replace(['\n', '\r'], " ");
        self.0.iter().enumerate().map(line)
    }
}
