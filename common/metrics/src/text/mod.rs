//! Text as CPython sees it, as far as metrics need it: words, punctuation, articles, case folding, printed floats.

mod pattern;
mod strings;

pub(crate) use pattern::Pattern;
pub(crate) use strings::{casefold, collapse, is_digit, is_punctuation, replace_articles, split, strip};
