//! The program `compass-master`: its command line, and the commands that are carried out here.
//!
//! Below it, each in a package of its own: `server` lends workers to jobs and answers for them, `pages` shows them to people and to
//! Prometheus, `recorded` reads and compares what has ended; `jobs` runs one job from its folder to its exit code; `run` leads a
//! stage, `planning` and `scoring` stand before and after it, `progress` says how it goes, `run-folder` is where it is kept. At the
//! bottom `scheduler` decides and does nothing else; `store` and `ledger` make decisions durable; `rpc` and `launch` reach workers,
//! and `authority` says which ones may work.

pub mod cli;
pub mod convert_command;
pub mod listing;
mod remote_data;
pub mod remote_files;
pub mod signals;
pub mod token_command;
pub mod view_command;
pub mod viz_command;
pub mod watch;
