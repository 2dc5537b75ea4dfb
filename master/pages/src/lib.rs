//! The read-only HTTP port: pages for people, `/status.json`, `/metrics` for Prometheus, `/healthz`.

mod events;
mod headers;
mod health;
mod jobs;
mod metrics;
mod pages;
mod port;
#[cfg(test)]
mod projections_tests;
mod requests;
mod runs;
mod server;
mod session;

pub use server::{HttpServer, ListenError};
