//! A snapshot of a stage.

/// Progress of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub recorded: u64,
    /// Samples that failed: with a result that says so, or given up.
    pub failed: u64,
    /// Failed samples without a result: nothing more is waited for.
    pub given_up: u64,
    pub slots: u32,
}

impl Snapshot {
    /// As it is shown: what was kept from before counts from the beginning on, when nothing is put up yet.
    pub(super) fn with_kept(self, already: u64) -> Self {
        Self { recorded: self.recorded.max(already), ..self }
    }

    /// Returns whether samples of `total` are left and no slot works.
    pub fn is_waiting(&self, total: u64) -> bool {
        self.slots == 0 && self.recorded + self.given_up < total
    }
}
