//! The command line: what can be typed and what it means for the configuration.

mod arguments;
mod comparing;
mod described;
mod filter;
mod importing;
mod job_arguments;
mod later;
mod launching;
mod missing_job;
mod mode;
mod number;
mod ranking;
mod resuming;
mod terminal;
mod token;
mod viewing;
mod watching;

pub use arguments::{Cli, Command, Explain, StateArguments};
pub use comparing::{CompareArguments, CorrectionName, GateArguments};
pub use described::{CustomArguments, HfType, ModelArguments};
pub use filter::NameFilter;
pub use importing::ImportArguments;
pub use job_arguments::{JobArguments, data_cache, without_flags};
pub use later::not_yet;
pub use ranking::{LeaderboardArguments, STEP};
pub use terminal::terminal_width;
pub use token::{TokenAction, TokenArguments};
pub use viewing::{ViewArguments, VizArguments};
pub use watching::WatchArguments;
