//! The command line: what can be typed and what it means for the configuration.

mod arguments;
mod described;
mod importing;
mod later;
mod launching;
mod mode;
mod token;
mod watching;

pub use arguments::{Cli, Command, Explain, JobArguments, StateArguments, data_cache};
pub use described::{CustomArguments, HfType, ModelArguments};
pub use importing::ImportArguments;
pub use later::not_yet;
pub use token::{TokenAction, TokenArguments};
pub use watching::WatchArguments;
