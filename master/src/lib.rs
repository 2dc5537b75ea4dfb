//! The master: plans a job, leases its tasks, records every sample once, and scores.
//!
//! Beside this package, each of them below it: `scheduler` decides and does nothing else; `store` and `ledger` make decisions
//! durable; `rpc` and `launch` reach workers, and `authority` says which ones may work. Here `leader` holds back what is not
//! durable; `pipeline` walks the data from the configuration to the table, `job` runs one such walk from its folder to its
//! exit code; `server` lends it workers and answers for it; `web` shows it to people and to Prometheus.

pub mod cli;
pub mod compare;
pub mod control;
pub mod convert_command;
pub mod descriptors;
pub mod estimate;
pub mod exit;
pub mod job;
pub mod leader;
mod notify;
pub mod pipeline;
mod remote_data;
pub mod remote_files;
mod runs;
pub mod server;
pub mod signals;
pub mod token_command;
pub mod view_command;
pub mod viz_command;
pub mod watch;
pub mod web;
mod wrapping;
