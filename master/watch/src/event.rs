//! What can happen to a watch, and what it wants done.

use super::ending::Ending;
use super::record::Record;
use compass_types::ids::Digest;
use std::collections::BTreeSet;

/// What a look at a checkpoint's directory shows, without a file of it being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Of names, sizes, times and inodes of its files: another one where anything was written.
    pub fingerprint: Digest,
    /// For how long nothing of it has changed, by the clock that the watch has.
    pub age_ms: u64,
    /// What says that it is being written, in words.
    pub unfinished: Option<String>,
}

/// What reading a checkpoint shows.
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
    /// Everything that was due was looked at: what is to begin may begin.
    Pass,
    /// The run folder of a content's job is made.
    Placed { content: Digest, folder: String },
    /// A server has taken the job of a content in.
    Submitted { content: Digest, job: String },
    /// The job of a content ended.
    Ended { content: Digest, ending: Ending },
    /// What lies at a checkpoint's path is no longer the content that was to begin.
    Changed { content: Digest, name: String },
    /// The job of a content could not begin now; it is tried again.
    Postponed { content: Digest },
}

/// What is to be done. Carried out in order: a record is durable before what follows it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes a record durable.
    Record(Record),
    /// Reads a checkpoint that is at rest.
    Examine { name: String },
    /// Begins, or goes on with, the job of a content that lies at `name`.
    Begin { content: Digest, name: String, step: Option<u64> },
    /// Says something to a person.
    Say(String),
}
