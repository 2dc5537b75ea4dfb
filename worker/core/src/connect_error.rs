//! Why there is no connection to a master, and whether to try again.

/// Reason for which a master cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The network is down, or the master is not running: a later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
    /// Retrying does not help: a person has to change something.
    #[error("{0}")]
    Refused(String),
}
