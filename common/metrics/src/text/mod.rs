//! Text as CPython sees it, as far as metrics need it: words, punctuation, articles, case folding, printed floats.

mod articles;
mod casefold;
mod digit;
mod pattern;
mod whitespace;

pub(crate) use articles::replace_articles;
pub(crate) use casefold::casefold;
pub(crate) use digit::is_digit;
pub(crate) use pattern::Pattern;
pub(crate) use whitespace::{collapse, is_punctuation, split, strip};
