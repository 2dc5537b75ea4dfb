//! The read-only HTTP port: a page for people, `/status.json`, `/metrics` for Prometheus, `/healthz`.

mod access;
mod health;
mod jobs;
mod metrics;
mod page;
mod port;
mod server;
mod view;

pub use access::{AccessError, BearerToken};
pub use server::{HttpServer, ListenError};
pub use view::{LiveMetric, RunView, WorkerView};
