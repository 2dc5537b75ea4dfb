//! Object stores that speak S3: endpoints with their keys, and the requests.

mod bucket;
mod endpoint;
mod fault;
mod ini;
mod petreloss;

pub(crate) use bucket::Bucket;
pub(crate) use endpoint::Endpoint;
