//! Connections to masters: through a proxy or directly, encrypted or not, with a join token exchanged for a
//! certificate.
//!
//! Workers open connections and never accept any. What uses an open connection (session, bulk) is part of `agent`.

mod connection;
mod enrolment;
mod identity;
mod join_token_source;
mod proxies;
mod trust;

pub use compass_agent::ConnectError;
pub(crate) use connection::error_chain;
pub use connection::{Connection, DialOptions, MasterEndpoint};
pub use join_token_source::JoinTokenSource;
pub use proxies::{Proxies, ProxyError};
