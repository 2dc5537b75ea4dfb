//! Estimates of a job, before anything is queued: tokens by the plan, time by what earlier runs took.

mod learned;
mod predict;
mod rates;
mod replicas;
mod shown;
mod speed_store;
mod tokens;

pub use predict::{Estimate, Seconds, TokenSource, estimate};
pub use shown::{Wishes, shown};
pub use speed_store::learn;
pub use speed_store::{SpeedStore, Speeds, record_names};
