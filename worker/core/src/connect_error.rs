//! Connection errors, and whether to retry.

/// Why a master cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The network is down, or the master is not running: a retry may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// A retry does not help: a person has to change something.
    #[error("{0}")]
    Refused(String),
}
