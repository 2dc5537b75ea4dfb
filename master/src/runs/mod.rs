//! Recorded runs, opened for reading: which there are, and their samples a page at a time. Nothing is written.

mod failures;
mod key;
mod logs;
mod marks;
mod opened;
mod query;
mod shelf;

pub(crate) use failures::{FailureClass, failures};
pub(crate) use key::Key;
pub(crate) use logs::{LogTail, RunLog, logs, tail};
pub(crate) use marks::Mark;
pub(crate) use opened::{OpenedRun, SampleFacts};
pub(crate) use query::{Found, SampleQuery, answer};
pub(crate) use shelf::{Listed, Shelf};
