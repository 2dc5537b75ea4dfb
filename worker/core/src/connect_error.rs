//! Reasons why a connection ended, and whether to retry.

/// Reason why a master cannot be reached, or no longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The network is down, or the master is not running: a retry may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The master ended the session in order: its job is over, or another master leads it.
    #[error("the master closed the stream")]
    Closed,
    /// A retry does not help: a person has to change something.
    #[error("{0}")]
    Refused(String),
}
