//! Identities as newtypes: a number that names one thing cannot be passed where another is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// A task of this run: an interval set of samples over one unit.
    TaskId(u32)
);
number_id!(
    /// Number of the try of a task; grows by one with every grant and is durable before the grant is sent.
    Attempt(u32)
);
number_id!(
    /// The term of one leader over one job; strictly grows.
    Epoch(u64)
);
number_id!(
    /// The position of a model in the plan.
    ModelId(u32)
);
number_id!(
    /// The position of a (model, dataset) pair in the plan: `model * datasets + dataset`.
    UnitId(u32)
);

/// One attempt at a task, as the leader that granted it counts: tasks and attempts are numbered from the start under every one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantId {
    pub epoch: Epoch,
    pub task: TaskId,
    pub attempt: Attempt,
}

impl GrantId {
    /// The grant with these numbers.
    pub const fn new(epoch: u64, task: u32, attempt: u32) -> Self {
        Self { epoch: Epoch(epoch), task: TaskId(task), attempt: Attempt(attempt) }
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.epoch, self.task, self.attempt)
    }
}

/// The name under which a worker is known, unique among live sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub String);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A BLAKE3 digest, the name of content. Shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Reads 64 hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }

    /// The first 12 hexadecimal digits: enough for a person.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a digest is 64 hexadecimal digits"))
    }
}
