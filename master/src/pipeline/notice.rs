//! What a scored run has to say beside its table. Whether a number is missing or in doubt is told by the kind of a notice,
//! never by its words, which hold texts of models and data.

use std::fmt;

/// A line for the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Worth knowing; every number stands.
    Note(String),
    /// A sample has no score, or a number is not to be trusted: the run ends with exit code 1.
    Error(String),
}

impl Notice {
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(text) => write!(f, "note: {text}"),
            Self::Error(text) => write!(f, "error: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_notice_decides_and_not_its_words() {
        let note = Notice::Note("error is the name of a data set: 1 sample was too long".into());
        assert!(!note.is_error() && note.to_string().starts_with("note: error is"));
        let error = Notice::Error("m/d: no result".into());
        assert!(error.is_error() && error.to_string() == "error: m/d: no result");
    }
}
