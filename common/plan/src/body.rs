//! Reading a [`Body`] at once. What serde derives for an enum whose tag stands among its fields keeps all of them in memory
//! until it knows the tag, and reads them a second time from there: a third of what it takes to read a part of a plan. The tag
//! stands first in all that this program writes.

use super::Program;
use super::sample::{Body, ChatTurn, OptionPrompt, OptionText};
use crate::prompt::Prompt;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, IntoDeserializer as _, MapAccess, VariantAccess,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// The field that says which of [`Body`]'s variants the others are of.
const TAG: &str = "kind";

/// [`Body`], with its fields inside its tag.
#[derive(Deserialize)]
#[serde(remote = "Body", rename_all = "snake_case")]
enum Variants {
    Ppl { options: Vec<OptionPrompt> },
    Loglikelihood { context: Prompt, options: Vec<OptionText> },
    Gen { prompt: Prompt },
    Clp { prompt: Prompt, choices: Vec<String> },
    Rolling { text: Prompt, words: u32, bytes: u32 },
    Windows { slice: u32, slices: u32, characters: u64 },
    Chat { turns: Vec<ChatTurn> },
    Execute { programs: Vec<Program> },
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Body;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the prompts of a sample, with `{TAG}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Body, A::Error> {
        let first: Option<Cow<'de, str>> = fields.next_key()?;
        if first.as_deref() == Some(TAG) {
            let kind: Cow<'de, str> = fields.next_value()?;
            return Variants::deserialize(Tagged { kind, fields });
        }
        // Written by something else: the tag is anywhere, or nowhere.
        let mut all = Map::new();
        if let Some(name) = first {
            all.insert(name.into_owned(), fields.next_value()?);
        }
        while let Some((name, value)) = fields.next_entry::<String, Value>()? {
            all.insert(name, value);
        }
        let kind = all.remove(TAG).ok_or_else(|| A::Error::missing_field(TAG))?;
        let Value::String(kind) = kind else { return Err(A::Error::custom(format_args!("`{TAG}` is a string"))) };
        let fields = MapDeserializer::<_, serde_json::Error>::new(all.into_iter());
        Variants::deserialize(Tagged { kind: kind.into(), fields }).map_err(A::Error::custom)
    }
}

/// A tag that was read, and the fields that follow it.
struct Tagged<'de, A> {
    kind: Cow<'de, str>,
    fields: A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Tagged<'de, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Tagged<'de, A> {
    type Error = A::Error;
    type Variant = Inside<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        Ok((seed.deserialize(self.kind.into_deserializer())?, Inside(self.fields)))
    }
}

/// The fields of a variant.
struct Inside<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Inside<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        IgnoredAny::deserialize(MapAccessDeserializer::new(self.0)).map(drop)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_read_as_it_was_written() {
        let question = || Prompt::question("How far is it?");
        let option = OptionPrompt { label: 1.into(), prompt: question(), answer: None };
        let text = OptionText {
            label: "B".into(),
            continuation: " B".into(),
            context: None,
            delimiter: 1,
            length: 1,
            unconditional: false,
        };
        let bodies = [
            Body::Ppl { options: vec![option] },
            Body::Loglikelihood { context: question(), options: vec![text] },
            Body::Gen { prompt: question() },
            Body::Clp { prompt: question(), choices: vec!["yes".into()] },
            Body::Rolling { text: question(), words: 4, bytes: 14 },
            Body::Windows { slice: 1, slices: 3, characters: 7 },
            Body::Chat { turns: vec![ChatTurn { role: "user".into(), content: "Hello".into() }] },
            Body::Execute { programs: Vec::new() },
        ];
        for body in bodies {
            let text = serde_json::to_string(&body).unwrap();
            assert!(text.starts_with(r#"{"kind":""#), "{text}");
            assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
            let value = serde_json::to_value(&body).unwrap();
            assert_eq!(serde_json::from_value::<Body>(value).unwrap(), body);
            // The tag last.
            let (tag, fields) = text.strip_prefix('{').unwrap().split_once(',').unwrap();
            let turned = format!("{{{},{tag}}}", fields.strip_suffix('}').unwrap());
            assert_eq!(serde_json::from_str::<Body>(&turned).unwrap(), body, "{turned}");
        }
    }

    #[test]
    fn what_is_no_body_is_said() {
        let error = |text: &str| serde_json::from_str::<Body>(text).unwrap_err().to_string();
        assert_eq!(error("{}"), "missing field `kind` at line 1 column 2");
        assert_eq!(error(r#"{"prompt":[]}"#), "missing field `kind` at line 1 column 13");
        assert!(error(r#"{"kind":"vision"}"#).starts_with("unknown variant `vision`, expected one of `ppl`"));
        assert_eq!(error(r#"{"kind":"gen"}"#), "missing field `prompt` at line 1 column 14");
        assert_eq!(error(r#"{"kind":"gen","prompt":[],"prompt":[]}"#), "duplicate field `prompt` at line 1 column 34");
        assert!(error(r#"{"kind":3}"#).contains("expected a string"));
        assert!(error("[]").contains("expected the prompts of a sample, with `kind`"));
    }
}
