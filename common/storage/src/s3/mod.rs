//! Object stores that speak S3: where one is and as whom it is asked, and the requests.

mod bucket;
mod endpoint;
mod fault;
mod ini;
mod petreloss;

pub(crate) use bucket::Bucket;
pub(crate) use endpoint::Endpoint;
