//! Why large content did not travel.

/// What became of a fetch or an upload that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// Trying again is of no use.
    #[error("{0}")]
    Hopeless(String),
    /// The master has no room for it now.
    #[error("{0}")]
    Full(String),
    /// The connection, or the master's mood.
    #[error("{0}")]
    Again(String),
}
