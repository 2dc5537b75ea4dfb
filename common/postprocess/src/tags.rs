//! Answers between tags, and reasoning between tags.

use super::pattern::{Pattern, Undecided};
use compass_pyfmt::strip;
use serde::{Deserialize, Serialize};

/// Result of [`xml_tag`] when the tag is missing.
pub const NO_ANSWER: &str = "NO ANSWER FOUND";

/// A tag with its brackets, for example `<conclude>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tag(String);

/// A text that is not a tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tag: write it with its brackets, as in \"<answer>\"")]
pub struct TagError(String);

impl Tag {
    /// The tag `text`.
    pub fn new(text: impl Into<String>) -> Result<Self, TagError> {
        let text = text.into();
        let name = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or_default();
        let valid = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        if valid { Ok(Self(text)) } else { Err(TagError(text)) }
    }
}

impl TryFrom<String> for Tag {
    type Error = TagError;

    fn try_from(text: String) -> Result<Self, TagError> {
        Self::new(text)
    }
}

impl From<Tag> for String {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

/// The marks around a model's reasoning; OpenCompass takes them for patterns, here they are literal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTokens {
    pub start: String,
    pub end: String,
}

impl Default for ThinkTokens {
    fn default() -> Self {
        Self { start: "<think>".into(), end: "</think>".into() }
    }
}

/// OpenCompass's `xml_tag_postprocessor`: the stripped content of the last element of this name, [`NO_ANSWER`] without one.
pub fn xml_tag(text: &str, tag: &Tag) -> String {
    let close = format!("</{}", tag.0.trim_start_matches('<'));
    let content = between(text, &tag.0, &close).last().map(|(_, content, _)| content);
    content.map_or(NO_ANSWER, strip).to_owned()
}

/// OpenCompass's `extract_non_reasoning_content`: the text without everything between the marks; the text after the last
/// closing mark when no mark opens; stripped.
pub fn without_reasoning(text: &str, tokens: &ThinkTokens) -> String {
    if !text.contains(&tokens.start)
        && let Some((_, answer)) = text.rsplit_once(&tokens.end)
    {
        return strip(answer).to_owned();
    }
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (start, _, end) in between(text, &tokens.start, &tokens.end) {
        out.push_str(&text[done..start]);
        done = end;
    }
    out.push_str(&text[done..]);
    strip(&out).to_owned()
}

/// OpenCompass's `think_pred_postprocess`: the stripped first group of the pattern, the whole text where it is not found.
///
/// # Errors
/// [`Undecided`].
pub fn think_pred(text: &str, pattern: &Pattern) -> Result<String, Undecided> {
    Ok(pattern.first_group(text)?.map_or(text, strip).to_owned())
}

/// Every shortest `open...close` from the left: where it starts, what it holds, where it ends.
fn between<'t>(text: &'t str, open: &str, close: &str) -> impl Iterator<Item = (usize, &'t str, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(open)?;
        let inside = start + open.len();
        let stop = inside + text[inside..].find(close)?;
        at = stop + close.len();
        Some((start, &text[inside..stop], at))
    })
}
