//! End of a checkpoint's job.

use serde::{Deserialize, Serialize};

/// End of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The exit code of its run.
    pub code: u8,
    /// Reason why it has no table; empty where it has one.
    pub reason: String,
}

/// Meaning of an ending for the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingKind {
    /// Every sample has a score.
    Whole,
    /// There is a table, and numbers are missing.
    Incomplete,
    /// Nothing was started: something that a person wrote is wrong.
    Refused,
    /// The table is missing.
    Failed,
}

impl Ending {
    /// Returns its meaning for the curve.
    pub fn kind(&self) -> EndingKind {
        match self.code {
            0 => EndingKind::Whole,
            1 if self.reason.is_empty() => EndingKind::Incomplete,
            2 => EndingKind::Refused,
            _ => EndingKind::Failed,
        }
    }
}
