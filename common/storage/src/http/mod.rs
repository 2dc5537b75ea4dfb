//! HTTP as object stores and the hub are spoken to: over hyper and rustls, through the proxies of the environment.

mod api;
mod connector;
mod error_chain;
mod post;
mod service;
mod stall;

pub use api::{ApiAnswer, ApiClient, ApiError, ApiRequest};
pub(crate) use error_chain::chain;
pub use post::{PostError, post_json};
pub(crate) use service::HttpStack;
