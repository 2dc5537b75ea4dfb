//! Errors of bulk transfers.

/// Reason why a fetch or an upload failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// A retry does not help.
    #[error("{0}")]
    Permanent(String),
    /// The master has no room for it now.
    #[error("{0}")]
    Full(String),
    /// A retry may succeed: the connection or the master failed.
    #[error("{0}")]
    Retryable(String),
}
