//! The reason for which a sample has no score.

/// Reason that a sample has no score, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unscored(pub String);
