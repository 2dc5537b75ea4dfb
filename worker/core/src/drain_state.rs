//! A drain in progress.

use super::ending::ExitReason;

/// Drain in progress.
#[derive(Debug)]
pub(super) struct Drain {
    pub(super) ending: ExitReason,
    /// Reason given to masters.
    pub(super) reason: String,
    /// Time at which the last slot became idle.
    pub(super) idle_since_ms: Option<u64>,
    /// Time of the signal that started it, if one did.
    pub(super) signalled_ms: Option<u64>,
}
