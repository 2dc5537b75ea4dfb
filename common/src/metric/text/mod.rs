//! Text as CPython sees it, as far as metrics need it: words, punctuation, articles, case folding, printed floats.

mod articles;
mod casefold;
mod digit;
mod float_text;
mod pattern;
mod whitespace;

pub(crate) use articles::replace_articles;
pub(crate) use casefold::casefold;
pub(crate) use digit::is_digit;
pub(crate) use float_text::float_text;
pub(crate) use pattern::Pattern;
pub(crate) use whitespace::{collapse, is_punctuation, split, strip};
