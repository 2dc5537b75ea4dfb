//! What a job will take, before anything is queued: tokens by the plan, time by what earlier runs took.

mod learned;
mod predict;
mod shown;

pub(crate) use learned::learn;
pub use predict::{Estimate, Seconds, estimate};
pub use shown::{Wishes, shown};
