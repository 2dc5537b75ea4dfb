//! Pauses between attempts to upload content.

use compass_common::backoff::{self, FullJitter};
use std::time::Duration;

/// Shortest and longest pause after a failed upload.
pub(super) const UPLOAD_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Returns the pauses between attempts to upload content.
pub(super) fn upload_pauses(seed: u64) -> FullJitter {
    backoff::seeded_policy(UPLOAD_PAUSES.0, UPLOAD_PAUSES.1, seed)
}
