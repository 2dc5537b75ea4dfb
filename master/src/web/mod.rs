//! The read-only HTTP port: pages for people, `/status.json`, `/metrics` for Prometheus, `/healthz`.

mod access;
mod events;
mod headers;
mod health;
mod jobs;
mod metrics;
mod pages;
mod port;
mod requests;
mod runs;
mod secrets;
mod server;
mod session;
mod settings;
mod tls;

pub use access::{AccessError, BearerToken};
pub use secrets::{HttpSecrets, HttpSecretsError};
pub use server::{HttpServer, ListenError};
pub use settings::HttpSettings;
pub use tls::HttpTlsError;
