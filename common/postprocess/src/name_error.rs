//! Errors of postprocessors and filters that a configuration names.

use super::option::LettersError;
use super::pattern::PatternError;
use super::tags::TagError;

/// A postprocessor that a configuration cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("unknown postprocessor `{0}`")]
    Unknown(String),
    #[error("unknown filter `{0}`")]
    UnknownFilter(String),
    #[error("`{name}` needs `{key}`, as in `{{ type = \"{name}\", {key} = {example} }}`")]
    Missing { name: String, key: &'static str, example: &'static str },
    #[error("`{key}` of `{name}` is {expected}")]
    WrongType { name: String, key: String, expected: &'static str },
    #[error("`{name}` has no parameter `{key}`")]
    UnknownParameter { name: String, key: String },
    #[error("MGSM has no language `{0}`; it has bn, de, en, es, fr, ja, ru, sw, te, th, zh")]
    Language(String),
    #[error(transparent)]
    Letters(#[from] LettersError),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
}
