//! The read-only HTTP port: pages for people, `/status.json`, `/metrics` for Prometheus, `/healthz`.

mod access;
mod events;
mod headers;
mod health;
mod jobs;
mod metrics;
mod pages;
mod port;
mod runs;
mod server;
mod session;
mod tls;

pub use access::{AccessError, BearerToken};
pub use server::{HttpServer, ListenError};
pub use tls::{HttpTlsError, acceptor};
