//! Flags and arguments of the commands.

mod comparing;
mod filter;
mod ranking;
mod why;

pub use comparing::{CompareArguments, CorrectionName, GateArguments, work_dir};
pub use filter::{NameFilter, filter};
pub use ranking::{LeaderboardArguments, STEP};
pub use why::WhyArguments;
