//! Checkpoints: now and then all that is assigned is recorded at once, so that the log of assignments stays as short as what
//! it is about. `assignments` makes them.

/// Attempts recorded since the latest checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checkpoint {
    attempts: u64,
}

impl Checkpoint {
    /// An attempt was recorded.
    pub(super) fn count_attempt(&mut self) {
        self.attempts += 1;
    }

    /// Returns whether at least `attempts` attempts were recorded since the latest checkpoint; if so, the count begins
    /// again.
    pub(super) fn is_due(&mut self, attempts: u64) -> bool {
        let is_due = self.attempts >= attempts;
        if is_due {
            self.attempts = 0;
        }
        is_due
    }
}
