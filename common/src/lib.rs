//! Needs of every program of the house: the host's name, cores, descriptors and GPUs, back-off, logs, what a person reads, private
//! files, JSON, join tokens.

pub mod backoff;
pub mod descriptors;
pub mod encode;
pub mod gpu_files;
pub mod host;
pub mod job_log;
pub mod join_token;
pub mod log_time;
pub mod private_file;
pub mod regular_file;
pub mod run_log;
mod screen;
pub mod status_output;
pub mod telemetry;
pub mod words;
