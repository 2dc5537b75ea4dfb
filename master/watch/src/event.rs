//! Events of a watch, and the actions that it requests.

use super::ending::Ending;
use super::record::Record;
use compass_types::ids::Digest;
use std::collections::BTreeSet;

/// Result of a look at a checkpoint's directory, without a file of it being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Digest of names, sizes, times and inodes of its files: another one where anything was written.
    pub fingerprint: Digest,
    /// Time for which nothing of it has changed, by the clock of the watch.
    pub age_ms: u64,
    /// Evidence that it is being written, in words.
    pub unfinished: Option<String>,
}

/// Result of reading a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// It is whole, and this is its content.
    Whole(Digest),
    /// Something of it is missing, in words.
    Lacks(String),
}

/// An input of [`super::Watch::apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The folder holds these names of checkpoints, and no others.
    Listed(BTreeSet<String>),
    /// A checkpoint was looked at; `None` where it is gone.
    Looked { name: String, look: Option<Look> },
    /// A checkpoint was examined; `after` is a look after that.
    Examined { name: String, found: Examined, after: Option<Look> },
    /// Everything that was due was looked at: evaluations that wait may begin.
    Pass,
    /// The run folder of a content's job is made.
    Placed { content: Digest, folder: String },
    /// A server has taken the job of a content in.
    Submitted { content: Digest, job: String },
    /// The job of a content ended.
    Ended { content: Digest, ending: Ending },
    /// The content at a checkpoint's path is no longer the one that was to begin.
    Changed { content: Digest, name: String },
    /// The job of a content could not begin now; it is tried again.
    Postponed { content: Digest },
}

/// An action to carry out. Actions are carried out in order: a record is durable before what follows it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes a record durable.
    Record(Record),
    /// Reads a checkpoint that is at rest.
    Examine { name: String },
    /// Begins, or continues, the job of a content that is at `name`.
    Begin { content: Digest, name: String, step: Option<u64> },
    /// Reports something to a person.
    Say(String),
}
