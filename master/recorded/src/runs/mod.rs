//! Recorded runs, opened for reading: which there are, and their samples a page at a time. Nothing is written.

pub mod failures;
pub mod key;
pub mod logs;
pub mod marks;
pub mod opened;
pub mod query;
pub mod shelf;

pub use failures::{FailureClass, failures};
pub use key::Key;
pub use logs::{LogTail, RunLog, logs, tail};
pub use marks::{Filter, Mark};
pub use opened::{OpenedRun, SampleFacts};
pub use query::{Found, SampleQuery, SampleRow, answer};
pub use shelf::{Listed, Shelf};
