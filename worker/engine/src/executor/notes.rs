//! Notes for the user on how samples were run, each once.

use std::collections::BTreeSet;

/// Pending notes, and all notes so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    known: BTreeSet<String>,
    pending: Vec<String>,
}

impl Notes {
    /// Adds a note, unless it was added before.
    pub(super) fn add(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.known.contains(&note) {
            self.known.insert(note.clone());
            self.pending.push(note);
        }
    }

    /// Returns the notes since the last call, in order.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_returned_once() {
        let mut notes = Notes::default();
        notes.add("one");
        notes.add("one");
        assert_eq!(notes.take(), ["one"]);
        notes.add("one");
        notes.add("two");
        assert_eq!(notes.take(), ["two"]);
    }
}
