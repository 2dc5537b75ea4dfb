//! Servers that tests start on loopback: an object store that speaks S3, a mirror of the Hugging Face hub, a proxy, and an
//! endpoint that speaks OpenAI's protocol and follows scripts.
//!
//! They are written over plain sockets, so that a test can have an answer end in the middle. Both count their requests: a
//! test that expects none can say so.

mod answer;
pub mod context;
mod hub;
pub mod openai;
mod proxy;
mod relay;
mod s3;
mod server;
mod signature;
mod tls;
mod upload;

pub use hub::HubMirror;
pub use proxy::Proxy;
pub use relay::Relay;
pub use s3::{Endless, Fault, ObjectServer};
pub use tls::Certificate;
pub use upload::Uploader;
