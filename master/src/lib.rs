//! The master: plans a job, leases its tasks, records every sample once, and scores.
//!
//! `core` decides and does nothing else; `store` and `ledger` make decisions durable; `leader` holds back what is not;
//! `rpc` and `launch` reach workers; `pipeline` walks the data from the configuration to the table, `job` runs one such walk
//! from its folder to its exit code; `server` lends it workers and answers for it; `web` shows it to people and to
//! Prometheus.

pub mod authority;
pub mod broker;
pub mod cli;
pub mod control;
pub mod core;
pub mod descriptors;
pub mod encode;
pub mod job;
pub mod journal;
pub mod launch;
pub mod leader;
pub mod ledger;
pub mod pipeline;
pub mod rpc;
pub mod screen;
pub mod server;
pub mod signals;
pub mod stop;
pub mod store;
pub mod token_command;
pub mod web;
