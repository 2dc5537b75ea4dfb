//! The evaluation domain as pure code: what a job is, what a prompt is, how a score is made.
//!
//! No I/O beyond reading configuration, no async, no tensors, no columnar data. Both ends of the wire use this crate,
//! so that a prompt is rendered, and a metric folded, by the same code wherever it happens.

pub mod backoff;
pub mod config;
pub mod engine;
pub mod evaluator;
pub mod join_token;
pub mod partition;
pub mod plan;
pub mod private_file;
pub mod prompt;
pub mod regular_file;
pub mod report;
pub mod retriever;
pub mod summary;
pub mod telemetry;
pub mod weights;
