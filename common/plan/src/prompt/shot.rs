//! A shot: text, a question with its answer, or turns of a dialogue. As JSON a string, an object or an array, so that the
//! plan stays compact.

use super::structured::{Prompt, Segment, ShotFormat, Turn};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A rendered shot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shot {
    /// Goes into the text of the prompt as it stands.
    Text(String),
    /// A question with its answer, in order: a text, or two messages of a chat.
    Answered(AnsweredShot),
    /// Items and turns between the marks of [`super::Section::Ice`].
    Turns(Vec<Segment>),
}

/// lm-eval's shot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnsweredShot {
    pub question: String,
    /// Between question and answer, where no chat parts them.
    pub delimiter: String,
    pub answer: String,
    /// After the answer, where no chat parts it from what follows.
    pub end: String,
}

impl AnsweredShot {
    /// All of it one after the other.
    pub fn text(&self) -> String {
        [&self.question, &self.delimiter, &self.answer, &self.end].map(String::as_str).concat()
    }
}

impl Shot {
    /// Unicode code points of its words.
    pub fn characters(&self) -> u64 {
        match self {
            Self::Text(text) => text.chars().count() as u64,
            Self::Answered(shot) => shot.text().chars().count() as u64,
            Self::Turns(turns) => turns.iter().map(|turn| Prompt(vec![turn.clone()]).characters(0)).sum(),
        }
    }

    /// Its size in bytes, words only.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Answered(shot) => shot.text().len(),
            Self::Turns(turns) => Prompt(turns.clone()).inline(&[], &ShotFormat::default()).len(),
        }
    }

    /// The shot with every text replaced by `change` of it.
    pub(super) fn map(&self, change: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Text(text) => Self::Text(change(text)),
            Self::Answered(_) => self.clone(),
            Self::Turns(turns) => Self::Turns(turns.iter().map(|turn| map_segment(turn, change)).collect()),
        }
    }
}

fn map_segment(segment: &Segment, change: &dyn Fn(&str) -> String) -> Segment {
    let map = |prompt: &Prompt| Prompt(prompt.0.iter().map(|segment| map_segment(segment, change)).collect());
    match segment {
        Segment::Header(text) => Segment::Header(change(text)),
        Segment::System(text) => Segment::System(change(text)),
        Segment::Question(text) => Segment::Question(change(text)),
        Segment::Option(text) => Segment::Option(change(text)),
        Segment::Item(prompt) => Segment::Item(map(prompt)),
        Segment::Turn(turn) => Segment::Turn(Turn { prompt: turn.prompt.as_ref().map(map), ..turn.clone() }),
        Segment::Prefix(_) | Segment::Shots | Segment::Open(_) | Segment::Close(_) => segment.clone(),
    }
}

impl From<&str> for Shot {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Shot {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl PartialEq<&str> for Shot {
    fn eq(&self, other: &&str) -> bool {
        match self {
            Self::Text(text) => text == other,
            Self::Answered(shot) => shot.text() == **other,
            Self::Turns(_) => false,
        }
    }
}

impl Serialize for Shot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Answered(shot) => shot.serialize(serializer),
            Self::Turns(turns) => turns.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Shot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShotVisitor)
    }
}

struct ShotVisitor;

impl<'de> Visitor<'de> for ShotVisitor {
    type Value = Shot;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a question with its answer or an array of turns")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Shot, E> {
        Ok(Shot::Text(text.into()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Shot, E> {
        Ok(Shot::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, shot: A) -> Result<Shot, A::Error> {
        AnsweredShot::deserialize(MapAccessDeserializer::new(shot)).map(Shot::Answered)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, turns: A) -> Result<Shot, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(turns)).map(Shot::Turns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::structured::Section;
    use super::*;

    #[test]
    fn json_is_a_string_an_object_or_an_array() {
        let part = |text: &str| text.to_owned();
        let shot = AnsweredShot { question: part("q"), delimiter: part(" "), answer: part("a"), end: part("\n") };
        let written = r#"{"question":"q","delimiter":" ","answer":"a","end":"\n"}"#;
        assert_eq!(serde_json::to_string(&Shot::Answered(shot.clone())).unwrap(), written);
        assert_eq!(serde_json::from_str::<Shot>(written).unwrap(), Shot::Answered(shot.clone()));
        assert_eq!((Shot::Answered(shot.clone()).bytes(), shot.text().as_str()), (4, "q a\n"));

        let turn = Turn { role: "HUMAN".into(), prompt: Some(Prompt::question("why")), ..Turn::default() };
        let turns = Shot::Turns(vec![Segment::Open(Section::Ice), Segment::Turn(turn), Segment::Close(Section::Ice)]);
        let written = serde_json::to_string(&[Shot::from("x"), turns.clone()]).unwrap();
        assert_eq!(
            written,
            r#"["x",[{"open":"ice"},{"turn":{"role":"HUMAN","prompt":[{"question":"why"}]}},{"close":"ice"}]]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Shot>>(&written).unwrap(), [Shot::from("x"), turns.clone()]);
        assert_eq!((turns.characters(), turns.bytes()), (3, 3));
        assert!(serde_json::from_str::<Shot>("3").is_err());
    }
}
