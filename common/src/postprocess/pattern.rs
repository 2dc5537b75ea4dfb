//! Patterns in the syntax of Python's `re`, searched as `re` searches.
//!
//! [`Pattern`] holds what a configuration or a task file writes: valid by construction, equal by its text. The constants
//! of this module's neighbours go through the same translation, see [`super::dialect`].

use super::dialect::{Dollar, translate};
use fancy_regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many steps a pattern with look-around or back references may take on one text before it counts as not found.
/// Python has no bound; such a pattern would keep it busy for minutes.
const STEPS: usize = 100_000_000;

/// A pattern of Python's `re`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    regex: Arc<fancy_regex::Regex>,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("`{pattern}` is not a valid pattern: {reason}")]
    Invalid { pattern: String, reason: String },
    #[error("`{0}` has no group: put what shall be extracted in parentheses")]
    NoGroup(String),
}

/// A match: the whole first, then the groups; `None` for a group that took no part.
pub type Groups<'t> = Vec<Option<&'t str>>;

impl Pattern {
    /// The pattern `text`, or why it is none.
    pub fn new(text: impl Into<String>) -> Result<Self, PatternError> {
        let text = text.into();
        let built = RegexBuilder::new(&translate(&text, Dollar::BeforeLastNewline)).backtrack_limit(STEPS).build();
        match built {
            Ok(regex) => Ok(Self { text, regex: Arc::new(regex) }),
            Err(error) => Err(PatternError::Invalid { pattern: text, reason: error.to_string() }),
        }
    }

    /// As [`Pattern::new`] for a pattern whose first group is what counts.
    pub fn with_group(text: impl Into<String>) -> Result<Self, PatternError> {
        let pattern = Self::new(text)?;
        if pattern.groups() == 0 { Err(PatternError::NoGroup(pattern.text)) } else { Ok(pattern) }
    }

    /// How many groups it has.
    pub fn groups(&self) -> usize {
        self.regex.captures_len().saturating_sub(1)
    }

    /// The text it was made of.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `re.search(pattern, text)`.
    pub fn search<'t>(&self, text: &'t str) -> Option<Groups<'t>> {
        self.from(text, 0).map(|(_, groups)| groups)
    }

    /// `re.search(pattern, text).group(1)`: empty where the group took no part, `None` without a match.
    pub fn first_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.search(text).map(|groups| groups.get(1).copied().flatten().unwrap_or_default())
    }

    /// `re.finditer(pattern, text)`.
    ///
    /// An empty match may touch the end of the match before it, as in Python since 3.7; one difference remains: where
    /// Python would then look for a longer match at the same place, the search goes on one character further.
    pub fn find_all<'t>(&self, text: &'t str) -> Vec<Groups<'t>> {
        let (mut found, mut at, mut empty_at) = (Vec::new(), 0, None);
        while let Some((range, groups)) = self.from(text, at) {
            if range.is_empty() && empty_at == Some(range.end) {
                let Some(next) = text[at..].chars().next() else { break };
                at += next.len_utf8();
                continue;
            }
            empty_at = range.is_empty().then_some(range.end);
            at = range.end;
            found.push(groups);
        }
        found
    }

    /// `re.sub(pattern, "", text)`.
    pub fn remove_all(&self, text: &str) -> String {
        self.regex.replace_all(text, "").into_owned()
    }

    fn from<'t>(&self, text: &'t str, at: usize) -> Option<(std::ops::Range<usize>, Groups<'t>)> {
        let captures = self.regex.captures_from_pos(text, at).ok().flatten()?;
        let range = captures.get(0)?.range();
        Some((range, captures.iter().map(|group| group.map(|group| group.as_str())).collect()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::new(text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

/// A constant pattern in Python's syntax without look-around; `$` is the very end of the text.
#[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
pub(super) fn constant(pattern: &str) -> regex::Regex {
    regex::Regex::new(&translate(pattern, Dollar::End)).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    //! Expected values were printed by CPython 3.11.
    use super::*;

    fn found<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
        let pattern = Pattern::new(pattern).unwrap();
        pattern.find_all(text).into_iter().map(|groups| groups[0].unwrap()).collect()
    }

    #[test]
    fn searches() {
        let search = |pattern: &str, text| Pattern::new(pattern).unwrap().search(text).is_some();
        assert!(search(r"a$", "a\n"));
        assert!(!search(r"a$", "a\n\n"));
        assert!(!search(r"a\Z", "a\n"));
        assert!(search(r"(?m)a$", "a\nb"));
        assert!(search(r"^\s$", "\u{1f}"));
        assert!(!search(r"\w", "\u{0301}"));
        assert!(search(r"[\w']+$", "it's"));
        assert!(search(r"x{,2}y{z}", "xxy{z}"));
        assert!(search(r"[[a]", "["));
        assert!(search(r"[]a]", "]"));
        assert!(search(r"[a&&b]{2}", "&a"));
        assert!(search(r"\<\u0041\'\ ", "<A' "));
        assert!(search(r"(?<!\d)\.", "a."));
        assert!(search(r"(.)\1", "abb"));
        assert!(search(r"(?P<x>a)(?P=x)", "aa"));
        assert_eq!(Pattern::new(r"(a)|b").unwrap().first_group("b"), Some(""));
    }

    #[test]
    fn all_matches() {
        assert_eq!(found(r"\d*", "a1b2"), ["", "1", "", "2", ""]);
        assert_eq!(found(r"x*", "é"), ["", ""]);
        assert_eq!(found(r"ab?", "abaab"), ["ab", "a", "ab"]);
        assert_eq!(found(r"$", "a\n"), ["", ""]);
    }

    #[test]
    fn errors_and_serde() {
        assert!(matches!(Pattern::new("("), Err(PatternError::Invalid { .. })));
        assert_eq!(Pattern::with_group("a").unwrap_err(), PatternError::NoGroup("a".into()));
        let pattern: Pattern = serde_json::from_str(r#""a(b)""#).unwrap();
        assert_eq!(pattern, Pattern::new("a(b)").unwrap());
        assert_eq!(serde_json::to_string(&pattern).unwrap(), r#""a(b)""#);
        assert!(serde_json::from_str::<Pattern>(r#""[""#).is_err());
    }
}
