//! The read-only HTTP port: a page for people, `/status.json`, `/metrics` for Prometheus, `/healthz`.

mod access;
mod health;
mod jobs;
mod metrics;
mod page;
mod port;
mod server;

pub use access::{AccessError, BearerToken};
pub use server::{HttpServer, ListenError};
