//! Rules of IFEval about the letters, words and form of a text.

use crate::text::strip;
use regex::{Regex, RegexBuilder};
use serde::de::IgnoredAny;

// `str.isupper()` and `str.islower()`.

/// Returns whether there are cased characters and all of them are upper case.
pub(super) fn is_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase) && !text.chars().any(|c| c.is_lowercase() || is_title(c))
}

/// Returns whether there are cased characters and all of them are lower case.
pub(super) fn is_lower(text: &str) -> bool {
    text.chars().any(char::is_lowercase) && !text.chars().any(|c| c.is_uppercase() || is_title(c))
}

/// The few digraphs with a capital first letter, such as ǅ: neither upper nor lower case.
fn is_title(c: char) -> bool {
    !c.is_ascii()
        && !c.is_uppercase()
        && !c.is_lowercase()
        && c.to_lowercase().ne([c])
        && matches!(c, '\u{1c5}'..='\u{1f2}' | '\u{1f88}'..='\u{1ffc}')
}

// Keywords, which are patterns to the peer.

/// Counts the matches of the pattern, in any case.
pub(super) fn count(keyword: &str, text: &str) -> usize {
    compile(keyword, &regex::escape(keyword)).map_or(0, |pattern| pattern.find_iter(text).count())
}

/// Returns whether the pattern is found with borders of words on either side, in any case.
pub(super) fn has_word(word: &str, text: &str) -> bool {
    compile(&format!(r"\b{word}\b"), &format!(r"\b{}\b", regex::escape(word))).is_some_and(|found| found.is_match(text))
}

/// The pattern; where it is none of this crate's, its text as it stands (`literal`, escaped).
fn compile(pattern: &str, literal: &str) -> Option<Regex> {
    let build = |source: &str| RegexBuilder::new(source).case_insensitive(true).build().ok();
    build(pattern).or_else(|| build(literal))
}

// `json.loads`, as far as it succeeds.

/// Returns whether the response, without a fence around it, is JSON to CPython, to which `NaN` and `Infinity` are numbers.
pub(super) fn is_json(response: &str) -> bool {
    let mut text = strip(response);
    for fence in ["```json", "```Json", "```JSON", "```"] {
        text = text.strip_prefix(fence).unwrap_or(text);
    }
    let text = strip(text.strip_suffix("```").unwrap_or(text));
    serde_json::from_str::<IgnoredAny>(&with_numbers(text)).is_ok()
}

/// The text with a plain number for every constant outside strings; spaces keep it from joining its neighbours.
fn with_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let constant = ["NaN", "-Infinity", "Infinity"].into_iter().find(|name| rest.starts_with(name));
        let taken = match (in_string, c, constant) {
            (true, '\\', _) => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
            (false, _, Some(name)) => {
                out.push_str(" 0 ");
                rest = &rest[name.len()..];
                continue;
            }
            (_, '"', _) => {
                in_string = !in_string;
                1
            }
            _ => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}
