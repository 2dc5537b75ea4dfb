//! Bounds on one run of an interpreter.

use std::time::Duration;

/// Bounds on one run of an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time that it may work on one data set, or start.
    pub idle_timeout: Duration,
    /// Bytes that it may write.
    pub most_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { idle_timeout: Duration::from_secs(30 * 60), most_bytes: 64 << 30 }
    }
}
