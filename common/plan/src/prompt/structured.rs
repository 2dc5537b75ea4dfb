//! The structured prompt: its borders are the only places where work on it may be cut and shared.
//!
//! It names roles, never a model's spelling of them: a model's meta template is applied when it is rendered.

use super::flat;
use super::shot::Shot;
use serde::{Deserialize, Serialize};

/// A prompt as segments in order.
///
/// Plain text is made of headers, shots, questions and options. A prompt in rounds holds items and turns between the
/// marks of its sections; the two never mix on one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prompt(pub Vec<Segment>);

/// A stretch of a prompt between two structural borders.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Text before the shots, or before the sample's own words: the same for a whole data set, as a rule.
    Header(String),
    /// Instructions before everything (lm-eval's `description`); in a chat what the system says.
    System(String),
    /// Beginning of the answer.
    Prefix(AnswerPrefix),
    /// Place of the sample's shots.
    Shots,
    /// Text of this sample, shared by its options where they have any.
    Question(String),
    /// Text of one option.
    Option(String),
    /// The beginning of a section of a prompt in rounds.
    Open(Section),
    /// Its end.
    Close(Section),
    /// A string among the turns, in plain segments.
    Item(Prompt),
    /// Words of one role.
    Turn(Turn),
}

/// Beginning of an answer (lm-eval's `gen_prefix`); in a chat what the assistant has begun to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnswerPrefix {
    /// Between the question and it, where no chat parts them.
    pub delimiter: String,
    pub text: String,
    /// Set if the target delimiter parts it from an answer in a chat too: its template does not end in white space.
    pub parted: bool,
}

/// The sections of a prompt in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Instructions before the dialogue.
    Begin,
    /// The dialogue that asks.
    Round,
    /// A shot.
    Ice,
    /// Text after the dialogue.
    End,
}

/// Words of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// `HUMAN`, `BOT`, `SYSTEM`, or another that the model's meta template knows.
    pub role: String,
    /// Role that says it where the meta template does not know `role`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_role: Option<String>,
    /// In place of the meta template's `begin` for the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// In place of the meta template's `end` for the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The words, in plain segments; `None` leaves those of the meta template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
}

/// Joints between shots: `shot sep shot sep shot eos`, OpenCompass's `ice_separator` and `ice_eos_token`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShotFormat {
    /// Between two shots.
    pub separator: String,
    /// After the last one, and also where there is none.
    pub end: String,
}

impl Prompt {
    /// A prompt of one segment, the sample's own text.
    pub fn question(text: impl Into<String>) -> Self {
        Self(vec![Segment::Question(text.into())])
    }

    /// Returns the beginning of the answer, where a plain prompt says it.
    pub fn prefix(&self) -> Option<&AnswerPrefix> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Prefix(prefix) => Some(prefix),
            _ => None,
        })
    }

    /// Returns whether there is a place for shots.
    pub fn takes_shots(&self) -> bool {
        self.0.iter().any(|segment| match segment {
            Segment::Shots => true,
            Segment::Item(prompt) | Segment::Turn(Turn { prompt: Some(prompt), .. }) => prompt.takes_shots(),
            _ => false,
        })
    }

    /// Returns whether it is in rounds.
    pub fn is_rounds(&self) -> bool {
        self.0.iter().any(|segment| {
            matches!(segment, Segment::Open(_) | Segment::Close(_) | Segment::Item(_) | Segment::Turn(_))
        })
    }

    /// The text that a model without a meta template reads, with the given shots in place.
    pub fn render(&self, shots: &[&Shot], format: &ShotFormat) -> String {
        if self.is_rounds() || shots.iter().any(|shot| matches!(shot, Shot::Turns(_))) {
            return flat::joined(&flat::flatten(self, shots, format));
        }
        self.inline(shots, format)
    }

    /// Plain segments one after the other, shots joined as texts.
    pub(super) fn inline(&self, shots: &[&Shot], format: &ShotFormat) -> String {
        self.inline_with_ends(shots, format, &mut Vec::new())
    }

    /// As [`Prompt::inline`]. `ends` receives where headers and shots end, as far as no word of the sample's own comes
    /// before.
    pub(super) fn inline_with_ends(&self, shots: &[&Shot], format: &ShotFormat, ends: &mut Vec<usize>) -> String {
        let mut text = String::new();
        let mut own = false;
        for segment in &self.0 {
            match segment {
                Segment::Header(part) | Segment::System(part) => text.push_str(part),
                Segment::Prefix(prefix) => {
                    text.push_str(&prefix.delimiter);
                    text.push_str(&prefix.text);
                    own = true;
                }
                Segment::Question(part) | Segment::Option(part) => {
                    text.push_str(part);
                    own |= !part.is_empty();
                }
                Segment::Shots => {
                    let start = text.len();
                    let (shown, shot_ends) = flat::inline_shots_with_ends(shots, format);
                    text.push_str(&shown);
                    if !own {
                        ends.extend(shot_ends.into_iter().map(|end| start + end));
                    }
                }
                Segment::Item(prompt) | Segment::Turn(Turn { prompt: Some(prompt), .. }) => {
                    text.push_str(&prompt.inline(shots, format));
                    own |= prompt.has_own_words();
                }
                Segment::Open(_) | Segment::Close(_) | Segment::Turn(_) => {}
            }
            if !own {
                ends.push(text.len());
            }
        }
        text
    }

    /// Returns whether anything in it is the sample's own, rather than the data set's.
    pub(super) fn has_own_words(&self) -> bool {
        self.0.iter().any(|segment| match segment {
            Segment::Question(text) | Segment::Option(text) => !text.is_empty(),
            Segment::Prefix(_) => true,
            Segment::Item(prompt) | Segment::Turn(Turn { prompt: Some(prompt), .. }) => prompt.has_own_words(),
            _ => false,
        })
    }

    /// Unicode code points of its own words, with `shots` for each place where shots stand.
    pub fn characters(&self, shots: u64) -> u64 {
        let of = |segment: &Segment| match segment {
            Segment::Header(text) | Segment::System(text) | Segment::Question(text) | Segment::Option(text) => {
                text.chars().count() as u64
            }
            Segment::Prefix(prefix) => (prefix.delimiter.chars().count() + prefix.text.chars().count()) as u64,
            Segment::Shots => shots,
            Segment::Item(prompt) | Segment::Turn(Turn { prompt: Some(prompt), .. }) => prompt.characters(shots),
            Segment::Open(_) | Segment::Close(_) | Segment::Turn(_) => 0,
        };
        self.0.iter().map(of).sum()
    }
}
