//! Errors that stop a run before its end.

use compass_ledger::CommitError;
use std::sync::Arc;

/// Reason for which a run stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("nothing more can be made durable")]
    Commit(#[source] Arc<CommitError>),
    #[error("the worker service ended")]
    ServiceEnded,
    #[error("cannot write down what befell the run")]
    Tally(#[source] serde_json::Error),
    #[error("no worker is left: {reason}")]
    NoWorkers { reason: String },
}
