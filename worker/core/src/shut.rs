//! Why a way is shut, and whether to knock again.

/// Reason for which a master cannot be reached, and whether to try again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shut {
    /// The network, or a master that is not there: it may be, later.
    #[error("{0}")]
    Again(String),
    /// Nothing changes by itself: somebody has to do something.
    #[error("{0}")]
    Refused(String),
}
