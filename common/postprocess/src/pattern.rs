//! Patterns in the syntax of Python's `re`, searched as `re` searches.
//!
//! [`Pattern`] holds what a configuration or a task file writes: valid by construction, equal by its text. The constants
//! of this module's neighbours go through the same translation, see [`compass_pyfmt::translate`].

use compass_pyfmt::{Dollar, translate};
use fancy_regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most steps back that a pattern with look-around or back references may take on one text. Python has no bound: a pattern
/// of this kind keeps it busy for minutes or indefinitely.
const STEPS: usize = 1_000_000;

/// Reason why the meaning of an answer is not known, so that it is neither right nor wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// A search that was given up.
    #[error(
        "undecided: the pattern `{pattern}` takes more than {STEPS} steps on this text; write it with fewer nested repetitions"
    )]
    Steps { pattern: String },
    /// A function of the user's own that gives nothing for this text.
    #[error("undecided: `{function}` fails on this text: {reason}")]
    Raised { function: String, reason: String },
}

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

/// Range of a match, and its groups.
pub type Found<'t> = (std::ops::Range<usize>, Groups<'t>);

impl Pattern {
    /// Compiles the pattern `text`; an error if it is invalid.
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

    /// Returns the number of its groups.
    pub fn groups(&self) -> usize {
        self.regex.captures_len().saturating_sub(1)
    }

    /// The text it was made of.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `re.search(pattern, text)`.
    ///
    /// # Errors
    /// [`Undecided`].
    pub fn search<'t>(&self, text: &'t str) -> Result<Option<Groups<'t>>, Undecided> {
        Ok(self.from(text, 0)?.map(|(_, groups)| groups))
    }

    /// `re.search(pattern, text).group(1)`: empty where the group took no part, `None` without a match.
    ///
    /// # Errors
    /// [`Undecided`].
    pub fn first_group<'t>(&self, text: &'t str) -> Result<Option<&'t str>, Undecided> {
        Ok(self.search(text)?.map(|groups| groups.get(1).copied().flatten().unwrap_or_default()))
    }

    /// `re.finditer(pattern, text)`.
    ///
    /// An empty match may touch the end of the match before it, as in Python since 3.7; one difference remains: where
    /// Python would then look for a longer match at the same place, the search continues one character further.
    ///
    /// # Errors
    /// [`Undecided`].
    pub fn find_all<'t>(&self, text: &'t str) -> Result<Vec<Groups<'t>>, Undecided> {
        Ok(self.matches(text)?.into_iter().map(|(_, groups)| groups).collect())
    }

    /// As [`Pattern::find_all`], each match with its range in bytes.
    ///
    /// # Errors
    /// [`Undecided`].
    pub fn matches<'t>(&self, text: &'t str) -> Result<Vec<Found<'t>>, Undecided> {
        let (mut found, mut at, mut empty_at) = (Vec::new(), 0, None);
        while let Some((range, groups)) = self.from(text, at)? {
            if range.is_empty() && empty_at == Some(range.end) {
                let Some(next) = text[at..].chars().next() else { break };
                at += next.len_utf8();
                continue;
            }
            empty_at = range.is_empty().then_some(range.end);
            at = range.end;
            found.push((range, groups));
        }
        Ok(found)
    }

    /// `re.sub(pattern, "", text)`.
    ///
    /// # Errors
    /// [`Undecided`].
    pub fn remove_all(&self, text: &str) -> Result<String, Undecided> {
        let removed = self.regex.try_replacen(text, 0, "").map_err(|_| self.undecided())?;
        Ok(removed.into_owned())
    }

    fn undecided(&self) -> Undecided {
        Undecided::Steps { pattern: self.text.clone() }
    }

    fn from<'t>(&self, text: &'t str, at: usize) -> Result<Option<Found<'t>>, Undecided> {
        // A valid pattern fails on a text for want of steps alone.
        let captures = self.regex.captures_from_pos(text, at).map_err(|_| self.undecided())?;
        Ok(captures.and_then(|captures| {
            let range = captures.get(0)?.range();
            Some((range, captures.iter().map(|group| group.map(|group| group.as_str())).collect()))
        }))
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
        pattern.find_all(text).unwrap().into_iter().map(|groups| groups[0].unwrap()).collect()
    }

    #[test]
    fn searches() {
        let search = |pattern: &str, text| Pattern::new(pattern).unwrap().search(text).unwrap().is_some();
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
        assert_eq!(Pattern::new(r"(a)|b").unwrap().first_group("b"), Ok(Some("")));
    }

    #[test]
    fn all_matches() {
        assert_eq!(found(r"\d*", "a1b2"), ["", "1", "", "2", ""]);
        assert_eq!(found(r"x*", "é"), ["", ""]);
        assert_eq!(found(r"ab?", "abaab"), ["ab", "a", "ab"]);
        assert_eq!(found(r"$", "a\n"), ["", ""]);
    }

    #[test]
    fn a_pattern_that_takes_too_many_steps_is_undecided() {
        let pattern = Pattern::new(r"(?=(a+)+$)(a+)+$").unwrap();
        let text = "a".repeat(40) + "!";
        let said = pattern.search(&text).unwrap_err().to_string();
        assert!(said.starts_with("undecided: the pattern `(?=(a+)+$)(a+)+$` takes more than 1000000 steps"), "{said}");
        assert!(pattern.find_all(&text).is_err() && pattern.first_group(&text).is_err());
        assert!(pattern.remove_all(&text).is_err(), "nor does it panic");
        assert!(pattern.search("aaa").unwrap().is_some());
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
