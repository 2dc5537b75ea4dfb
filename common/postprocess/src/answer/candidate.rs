//! Candidates for the answer: where each stands, and what it says.

use super::found::{AnswerKind, FoundAnswer, FoundBy};

/// Meaning of a candidate's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A value of the kind, or a letter beside the options.
    Valid { text: String, outside: bool },
    /// A value of another kind: a formula where a number is looked for.
    Other(String),
    /// It says that there is no answer.
    Nothing,
}

/// A reading, and the text behind it.
#[derive(Debug)]
pub(super) struct Read<'t> {
    pub(super) reading: Reading,
    pub(super) rest: &'t str,
}

/// A place of a text that may hold the answer.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Byte at which its box, its marker or its tag begins.
    pub(super) start: usize,
    pub(super) how: FoundBy,
    pub(super) reading: Reading,
    /// True between quotes, as in an instruction that is repeated.
    pub(super) is_quoted: bool,
    /// True behind `final answer`.
    pub(super) is_final: bool,
}

impl Candidate {
    pub(super) fn new(start: usize, how: FoundBy, reading: Reading) -> Self {
        Self { start, how, reading, is_quoted: false, is_final: false }
    }

    /// Returns `true` unless it holds a value of another kind.
    pub(super) fn counts(&self) -> bool {
        !matches!(self.reading, Reading::Other(_))
    }

    /// Returns the answer; `None` where it says that no answer exists.
    pub(super) fn into_answer(self) -> Option<FoundAnswer> {
        let how = self.how;
        match self.reading {
            Reading::Valid { text, outside } => Some(FoundAnswer { text, how, outside }),
            Reading::Other(text) => Some(FoundAnswer { text, how, outside: true }),
            Reading::Nothing => None,
        }
    }
}

impl AnswerKind {
    /// Returns the options; none for other kinds.
    pub(super) fn options(&self) -> &str {
        match self {
            Self::Choice { options } => options.as_str(),
            Self::Number | Self::Math | Self::Text => "",
        }
    }
}
