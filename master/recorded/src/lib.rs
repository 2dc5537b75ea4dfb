//! Recorded runs, opened for reading: their samples page by page, and their comparison.

pub mod arguments;
pub mod compare;
mod data_column;
pub mod runs;
pub mod why;

pub use arguments::{CompareArguments, GateArguments, LeaderboardArguments, NameFilter, STEP, WhyArguments};
pub use data_column::DatasetReader;
pub use runs::{
    FailureClass, Filter, Found, Key, Listed, LogTail, Mark, OpenedRun, RunLog, SampleFacts, SampleQuery, Shelf,
};
