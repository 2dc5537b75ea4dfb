//! Messages of failures that were said once.

use std::collections::BTreeSet;

/// Messages of failed tasks that were said.
#[derive(Clone, Debug, Default)]
pub(super) struct FailureNotes(BTreeSet<String>);

impl FailureNotes {
    /// Returns whether a message is new; from here on it is not.
    pub(super) fn is_new(&mut self, message: &str) -> bool {
        self.0.insert(message.to_owned())
    }
}
