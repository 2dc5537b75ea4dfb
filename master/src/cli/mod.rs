//! The command line: what can be typed and what it means for the configuration.

mod arguments;
mod described;
mod importing;
pub mod job_arguments;
pub mod later;
mod launching;
mod missing_job;
mod number;
mod resuming;
pub mod token;
pub mod viewing;
mod watching;

pub use arguments::{Cli, Command, Explain, StateArguments};
pub use described::{CustomArguments, HfType, ModelArguments};
pub use importing::ImportArguments;
pub use job_arguments::{JobArguments, data_cache, without_flags};
pub use later::not_yet;
pub use token::{TokenAction, TokenArguments};
pub use viewing::{ViewArguments, VizArguments};
pub use watching::WatchArguments;
