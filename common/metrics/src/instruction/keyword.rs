//! Keywords, which are patterns to the peer.

use regex::{Regex, RegexBuilder};

/// How often the pattern is found, in any case.
pub(super) fn count(keyword: &str, text: &str) -> usize {
    compile(keyword, &regex::escape(keyword)).map_or(0, |pattern| pattern.find_iter(text).count())
}

/// Whether the pattern is found with borders of words on either side, in any case.
pub(super) fn has_word(word: &str, text: &str) -> bool {
    compile(&format!(r"\b{word}\b"), &format!(r"\b{}\b", regex::escape(word))).is_some_and(|found| found.is_match(text))
}

/// The pattern; where it is none of this crate's, its text as it stands (`literal`, escaped).
fn compile(pattern: &str, literal: &str) -> Option<Regex> {
    let build = |source: &str| RegexBuilder::new(source).case_insensitive(true).build().ok();
    build(pattern).or_else(|| build(literal))
}
