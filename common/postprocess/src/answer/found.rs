//! The kinds of answers, and an answer that was found.

use crate::option::Letters;
use serde::{Deserialize, Serialize};

/// A kind of answer, with what is known of its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AnswerKind {
    /// The letter of an option.
    Choice { options: Letters },
    /// A number: digits, a sign, a point, or a fraction.
    Number,
    /// A formula, as it is written in LaTeX.
    Math,
    /// Words.
    Text,
}

/// An answer in a text, with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAnswer {
    /// The option's letter as `options` spells it; a number in plain digits; a formula or words without what dresses them.
    pub text: String,
    pub how: FoundBy,
    /// True of a letter that is not one of the options, of several letters, and of a value of another kind.
    pub outside: bool,
}

/// The tiers, the first that holds an answer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBy {
    /// `\boxed{..}`.
    Boxed,
    /// Words that announce an answer: `the answer is`, `####`, 故选.
    Marker,
    /// `<answer>..</answer>`.
    Tag,
    /// A last line that is nothing else.
    LastLine,
    /// The first line, a conclusion, the last number.
    LastResort,
}
