//! The master: plans a job, leases its tasks, records every sample once, and scores.
//!
//! `core` decides and does nothing else; `store` and `ledger` make decisions durable; `rpc` and `launch` reach workers;
//! `pipeline` walks the data from the configuration to the table; `web` shows it to people and to Prometheus.

pub mod cli;
pub mod core;
pub mod launch;
pub mod ledger;
pub mod pipeline;
pub mod rpc;
pub mod screen;
pub mod stop;
pub mod store;
pub mod web;
