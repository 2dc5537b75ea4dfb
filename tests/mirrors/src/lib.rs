//! Servers that tests start on loopback: an object store that speaks S3, and a mirror of the Hugging Face hub.
//!
//! They are written over plain sockets, so that a test can have an answer end in the middle. Both count their requests: a
//! test that expects none can say so.

mod answer;
mod hub;
mod relay;
mod s3;
mod server;
mod signature;
mod upload;

pub use hub::HubMirror;
pub use relay::Relay;
pub use s3::{Fault, ObjectServer};
pub use upload::Uploader;
