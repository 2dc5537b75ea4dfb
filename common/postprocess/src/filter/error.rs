//! Reasons why a filter has no answer; lm-eval stops the whole run there, here only the sample fails.

use crate::Undecided;

/// Failure on one document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("there is no response to take")]
    Empty,
    #[error("{found} responses of the {needed} that the filter takes: ask for more repeats")]
    TooFew { needed: usize, found: usize },
    #[error("the pattern matches {found} times, match {index} is asked for")]
    NoSuchMatch { index: i64, found: usize },
    #[error("`{0}` is not a text")]
    NotText(String),
    #[error("`{0}` is neither a list of responses nor a text")]
    NotResponses(String),
    #[error(transparent)]
    Undecided(#[from] Undecided),
    #[error("the options cannot be looked for: {0}")]
    Options(String),
}
