//! The command line: what can be typed, what it means for the configuration, and how the program ends.

mod arguments;
mod described;
pub mod exit;
mod later;
mod launching;
mod token;

pub use arguments::{Cli, Command, Explain, JobArguments, Mode, StateArguments};
pub use described::{CustomArguments, HfType, ModelArguments};
pub use later::not_yet;
pub use token::{TokenAction, TokenArguments};
