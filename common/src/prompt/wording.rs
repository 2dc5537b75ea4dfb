//! A short template beside the prompt's own: a description, a target, a gold answer. Columns in braces, or Jinja.

use super::format::{Row, fill};
use super::jinja;
use serde::{Deserialize, Serialize};

/// A template of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// `{column}` is replaced, as in OpenCompass.
    Text(String),
    /// Jinja over the columns, as in lm-eval.
    Jinja(String),
}

impl Wording {
    /// The text of a row, `blank` taken as an empty column.
    ///
    /// # Errors
    /// In words: what the Jinja template does not find or cannot do.
    pub(super) fn of(&self, row: &Row, blank: Option<&str>) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(fill(text, row, blank)),
            Self::Jinja(source) => jinja::text(source, row),
        }
    }

    /// Its text where placeholders are in braces.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Jinja(_) => None,
        }
    }
}
