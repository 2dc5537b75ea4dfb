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
    #[error("`answer` has no kind `{0}`")]
    AnswerKind(String),
    #[error("option `{0}` stands twice in `options`")]
    RepeatedOption(char),
    #[error("answers of kind `{0}` have no `options`")]
    OptionsWithoutChoice(String),
    #[error(transparent)]
    Letters(#[from] LettersError),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl NameError {
    /// Returns the parameter that is wrong, where the error is of one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::WrongType { key, .. } | Self::UnknownParameter { key, .. } => Some(key),
            Self::AnswerKind(_) => Some("kind"),
            Self::RepeatedOption(_) | Self::OptionsWithoutChoice(_) | Self::Letters(_) => Some("options"),
            _ => None,
        }
    }

    /// Returns what to write instead, where the message does not say it.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::AnswerKind(_) => Some("kinds are `choice`, `number`, `math` and `text`"),
            Self::RepeatedOption(_) => Some("write each option once, as in \"ABCD\""),
            Self::OptionsWithoutChoice(_) => Some("remove `options`, or write `kind = \"choice\"`"),
            _ => None,
        }
    }
}
