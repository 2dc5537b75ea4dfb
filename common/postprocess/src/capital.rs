//! Upper-case letters out of an answer: multiple choice where the letter is the answer.

use super::pattern::constant;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// OpenCompass's `first_capital_postprocess`: the first upper-case character of any script; empty without one.
pub fn first_capital(text: &str) -> String {
    text.chars().find(|c| c.is_uppercase()).map(String::from).unwrap_or_default()
}

/// OpenCompass's `last_capital_postprocess`: the last one.
pub fn last_capital(text: &str) -> String {
    text.chars().rev().find(|c| c.is_uppercase()).map(String::from).unwrap_or_default()
}

/// OpenCompass's `first_capital_postprocess_multi`: the first run of the letters A to D; empty without one.
pub fn first_capital_multi(text: &str) -> String {
    static RUN: LazyLock<regex::Regex> = LazyLock::new(|| constant("[A-D]+"));
    RUN.find(text).map_or("", |run| run.as_str()).to_owned()
}

/// OpenCompass's `multiple_select_postprocess`: every upper-case character once, in the order of code points.
pub fn multiple_select(text: &str) -> String {
    text.chars().filter(|c| c.is_uppercase()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Result of [`crows_pairs`] if no choice is named.
pub(super) const NO_CHOICE: &str = "invalid";

/// The evaluator of crows-pairs' own: A or B, else `invalid`.
///
/// OpenCompass's `crowspairs_postprocess`; the full stops of its last patterns are unescaped, so that an `A` followed by
/// any character other than a newline counts.
pub fn crows_pairs(text: &str) -> String {
    let followed = |letter: char| {
        let mut rest = text.chars().peekable();
        std::iter::from_fn(|| rest.next().map(|c| (c, rest.peek().copied())))
            .any(|(c, next)| c == letter && next.is_some_and(|next| next != '\n'))
    };
    let letter = match text.chars().next() {
        _ if text.contains("Neither") || text.contains("Both") => NO_CHOICE,
        Some('A') => "A",
        Some('B') => "B",
        _ if followed('A') => "A",
        _ if followed('B') => "B",
        _ => NO_CHOICE,
    };
    letter.to_owned()
}
