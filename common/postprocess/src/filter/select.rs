//! `RegexFilter`: one of all matches of a pattern.

use super::{FilterError, Selector};
use crate::{Groups, Pattern};
use compass_pyfmt::strip;
use serde_json::Value;

impl Selector {
    /// Returns the selected match, stripped; the fallback without a match. A value that is not a text counts as empty.
    pub(super) fn apply(&self, item: &Value) -> Result<Value, FilterError> {
        let found = self.pattern.find_all(item.as_str().unwrap_or_default())?;
        if found.is_empty() {
            return Ok(self.fallback.clone().into());
        }
        let found = found_text(select(&found, self.group_select)?);
        Ok(found.map_or(self.fallback.as_str(), strip).into())
    }

    /// As [`Selector::apply`] with another pattern and no fallback: empty where there is no match.
    pub(super) fn find<'t>(&self, pattern: &Pattern, text: &'t str) -> Result<&'t str, FilterError> {
        let found = pattern.find_all(text)?;
        if found.is_empty() {
            return Ok("");
        }
        Ok(found_text(select(&found, self.group_select)?).map(strip).unwrap_or_default())
    }
}

/// The match at a place of Python's list index.
fn select<'f, 't>(found: &'f [Groups<'t>], index: i64) -> Result<&'f Groups<'t>, FilterError> {
    let len = found.len();
    let at = if index < 0 { i64::try_from(len).unwrap_or(i64::MAX).saturating_add(index) } else { index };
    let no_match = FilterError::NoSuchMatch { index, found: len };
    usize::try_from(at).ok().and_then(|at| found.get(at)).ok_or(no_match)
}

/// Returns the value of `re.findall` for a match: all of it without groups, the group if there is one, of several the first
/// that is not empty.
fn found_text<'t>(groups: &Groups<'t>) -> Option<&'t str> {
    match groups.as_slice() {
        [whole] => *whole,
        [_, group] => Some(group.unwrap_or_default()),
        [_, groups @ ..] => groups.iter().flatten().copied().find(|group| !group.is_empty()),
        [] => None,
    }
}
