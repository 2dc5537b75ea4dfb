//! The structured prompt: its borders are the only places where work on it may be cut and shared.

use serde::{Deserialize, Serialize};

/// A prompt as segments in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prompt(pub Vec<Segment>);

/// A stretch of a prompt between two structural borders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Text before the shots: the same for a whole data set, as a rule.
    Header(String),
    /// Where the sample's shots stand.
    Shots,
    /// Text of this sample, shared by its options where they have any.
    Question(String),
    /// Text of one option.
    Option(String),
}

/// How shots are joined: `shot sep shot sep shot eos`, OpenCompass's `ice_separator` and `ice_eos_token`.
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

    /// Whether there is a place for shots.
    pub fn takes_shots(&self) -> bool {
        self.0.contains(&Segment::Shots)
    }

    /// The text with the given shots in place.
    pub fn render(&self, shots: &[&str], format: &ShotFormat) -> String {
        let mut text = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Header(part) | Segment::Question(part) | Segment::Option(part) => text.push_str(part),
                Segment::Shots => {
                    text.push_str(&shots.join(&format.separator));
                    text.push_str(&format.end);
                }
            }
        }
        text
    }
}
