//! Templates in rounds: what each role says, as OpenCompass's `{ begin, round, end }` tables write it.

use serde::{Deserialize, Serialize};

/// A template in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Before the dialogue; shots go here, at the ice token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begin: Vec<TemplateLine>,
    /// The dialogue. Of a shot this alone is shown.
    pub round: Vec<TemplateLine>,
    /// After the dialogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub end: Vec<TemplateLine>,
    /// Messages as a service takes them (`RawPromptTemplate`): OpenCompass neither blanks the gold answer in them nor
    /// fills its shots a second time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
}

/// A line of a template in rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateLine {
    /// Text without a speaker.
    Text(String),
    /// Words of a role.
    Role(Role),
    /// The messages that a column holds, a list of `{ role, content }`, as they are.
    Expand(String),
}

/// A role's line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub role: String,
    /// The words; `None` leaves those of the model's meta template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Role that says it where the model does not know `role`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_role: Option<String>,
    /// In place of the model's own `begin` for the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// In place of the model's own `end` for the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

impl Rounds {
    /// All lines in order.
    pub fn lines(&self) -> impl Iterator<Item = &TemplateLine> {
        self.begin.iter().chain(&self.round).chain(&self.end)
    }
}

impl TemplateLine {
    /// Its words.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Role(role) => role.prompt.as_deref(),
            Self::Expand(_) => None,
        }
    }
}
