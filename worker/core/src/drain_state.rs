//! A drain in progress.

use super::ending::ExitReason;

/// Drain in progress.
#[derive(Debug)]
pub(super) struct Drain {
    pub(super) ending: ExitReason,
    /// What masters are told.
    pub(super) reason: String,
    /// When the last slot became idle.
    pub(super) idle_since_ms: Option<u64>,
    /// When a signal started it, if one did.
    pub(super) signalled_ms: Option<u64>,
}
