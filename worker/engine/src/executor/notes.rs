//! What a person should know of how samples were run: each once.

use std::collections::BTreeSet;

/// Notes that wait to be taken, and those that were.
#[derive(Debug, Default)]
pub(super) struct Notes {
    said: BTreeSet<String>,
    waiting: Vec<String>,
}

impl Notes {
    /// Adds a note, unless it was said before.
    pub(super) fn say(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.said.contains(&note) {
            self.said.insert(note.clone());
            self.waiting.push(note);
        }
    }

    /// The notes since the last time, in the order in which they came up.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_said_once() {
        let mut notes = Notes::default();
        notes.say("one");
        notes.say("one");
        assert_eq!(notes.take(), ["one"]);
        notes.say("one");
        notes.say("two");
        assert_eq!(notes.take(), ["two"]);
    }
}
