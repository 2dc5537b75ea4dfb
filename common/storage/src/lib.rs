//! Files that are elsewhere: in an object store that speaks S3, or on the Hugging Face hub; and the folder on this node
//! where they lie once they have been fetched.
//!
//! [`Location`] is what a person writes; [`Storage`] lists what is there, reads ranges of it and fetches whole files into
//! [`cache`], from which an engine reads them as from any directory. No secret is in a message: [`StorageFault`] names the
//! profile, the endpoint, the bucket and the key.

mod arguments;
mod cache;
mod fault;
mod http;
pub mod hub;
mod location;
mod mark;
mod model;
mod runtime;
mod s3;
mod size;
mod storage;
mod variables;

pub use arguments::StorageArguments;
pub use cache::{Bound, Progress, ProgressLog};
pub use compass_plan::weights::shown_size;
pub use fault::{FaultKind, StorageFault};
pub use http::{ApiAnswer, ApiClient, ApiError, ApiRequest, PostError, post_json};
pub use location::{HubKind, HubRepository, Location, S3Location};
pub use mark::{Listing, ObjectMark};
pub use model::{RemoteFolder, is_loadable};
pub use size::parse_size;
pub use storage::{Fetched, Storage, StorageOptions};
pub use variables::Variables;
