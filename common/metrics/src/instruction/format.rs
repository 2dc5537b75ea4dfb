//! Paragraphs, sections, bullets, highlights and titles.

use crate::text::{Pattern, split, strip};
use regex::RegexBuilder;

/// Paragraphs between `***`; blank ones at either end do not count, and `None` when one between others is blank.
pub(super) fn paragraphs(text: &str) -> Option<i64> {
    static DIVIDER: Pattern = Pattern::new(r"[\s\x1c-\x1f]?\*\*\*[\s\x1c-\x1f]?");
    let parts: Vec<&str> = DIVIDER.split(text).collect();
    let mut count = parts.len() as i64;
    for (at, part) in parts.iter().enumerate() {
        if strip(part).is_empty() {
            if at != 0 && at != parts.len() - 1 {
                return None;
            }
            count -= 1;
        }
    }
    Some(count)
}

/// Returns whether there are `paragraphs` paragraphs (empty lines between them) and the nth, from 1, begins with `first_word`.
pub(super) fn nth_paragraph(text: &str, paragraphs: i64, nth: i64, first_word: &str) -> bool {
    let parts: Vec<&str> = text.split("\n\n").collect();
    let count = parts.iter().filter(|part| !strip(part).is_empty()).count() as i64;
    // The nth of all parts is taken, blank ones included.
    let chosen = usize::try_from(nth - 1).ok().filter(|_| nth <= count).and_then(|at| parts.get(at));
    let Some(word) = chosen.and_then(|part| split(part).next()) else { return false };
    let word = word.trim_start_matches('\'').trim_start_matches('"');
    let word = word.split(['.', ',', '?', '!', '\'', '"']).next().unwrap_or_default();
    count == paragraphs && word.chars().flat_map(char::to_lowercase).eq(first_word.chars())
}

/// `[...]` within one line.
pub(super) fn placeholders(text: &str) -> i64 {
    static PLACEHOLDER: Pattern = Pattern::new(r"\[.*?\]");
    PLACEHOLDER.find_iter(text).count() as i64
}

/// Returns whether a postscript begins somewhere; other markers than the two usual ones are patterns.
pub(super) fn postscript(text: &str, marker: &str) -> bool {
    static PPS: Pattern = Pattern::new(r"p\.[\s\x1c-\x1f]?p\.[\s\x1c-\x1f]?s");
    static PS: Pattern = Pattern::new(r"p\.[\s\x1c-\x1f]?s\.");
    let text = text.to_lowercase();
    match marker {
        "P.P.S" => PPS.is_match(&text),
        "P.S." => PS.is_match(&text),
        other => {
            let other = other.to_lowercase();
            RegexBuilder::new(&other).build().map_or_else(|_| text.contains(&other), |pattern| pattern.is_match(&text))
        }
    }
}

/// Lines that begin with `*` and something else, or with `-`.
pub(super) fn bullets(text: &str) -> i64 {
    static STAR: Pattern = Pattern::new(r"(?m)^[\s\x1c-\x1f]*\*[^*].*$");
    static DASH: Pattern = Pattern::new(r"(?m)^[\s\x1c-\x1f]*-.*$");
    (STAR.find_iter(text).count() + DASH.find_iter(text).count()) as i64
}

/// `*...*` and `**...**` that are not blank; what stands between two stars counts for both.
pub(super) fn highlights(text: &str) -> i64 {
    static SINGLE: Pattern = Pattern::new(r"\*[^\n*]*\*");
    static DOUBLE: Pattern = Pattern::new(r"\*\*[^\n*]*\*\*");
    let single = SINGLE.find_iter(text).filter(|found| !strip(found.as_str().trim_matches('*')).is_empty()).count();
    let inner =
        |found: &str| found.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).map(strip).map(str::len);
    let double = DOUBLE.find_iter(text).filter(|found| inner(found.as_str()).is_some_and(|len| len > 0)).count();
    (single + double) as i64
}

/// Counts the times that the word (a pattern) and a number begin a section.
pub(super) fn sections(text: &str, splitter: &str) -> i64 {
    let heads = |word: &str| RegexBuilder::new(&format!(r"\s?{word}\s?\d+\s?")).build().ok();
    let pattern = heads(splitter).or_else(|| heads(&regex::escape(splitter)));
    pattern.map_or(0, |pattern| pattern.find_iter(text).count() as i64)
}

/// Some `<<...>>` that is not blank.
pub(super) fn has_title(text: &str) -> bool {
    static TITLE: Pattern = Pattern::new(r"<<[^\n]+>>");
    TITLE.find_iter(text).any(|title| !strip(title.as_str().trim_start_matches('<').trim_end_matches('>')).is_empty())
}

/// Two different responses around `******`; a blank one is let pass at either end only.
pub(super) fn two_responses(text: &str) -> bool {
    let parts: Vec<&str> = text.split("******").collect();
    let last = parts.len() - 1;
    if parts.iter().enumerate().any(|(at, part)| at != 0 && at != last && strip(part).is_empty()) {
        return false;
    }
    let responses: Vec<&str> = parts.into_iter().map(strip).filter(|part| !part.is_empty()).collect();
    matches!(responses[..], [first, second] if first != second)
}
