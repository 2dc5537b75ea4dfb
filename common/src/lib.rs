//! What every program of the house needs of its host: back-off, logs, private files, join tokens.

pub mod backoff;
pub mod join_token;
pub mod private_file;
pub mod regular_file;
pub mod telemetry;
