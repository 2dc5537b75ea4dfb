//! A sample's place in a run.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// A sample's place in a run, written `unit.index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub unit: u32,
    pub index: u32,
}

/// With `key`, as addresses of pages write it.
impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Key", 3)?;
        members.serialize_field("unit", &self.unit)?;
        members.serialize_field("index", &self.index)?;
        members.serialize_field("key", &self.to_string())?;
        members.end()
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.unit, self.index)
    }
}

impl std::str::FromStr for Key {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (unit, index) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self { unit: unit.parse()?, index: index.parse()? })
    }
}
