//! A trainer that writes checkpoints, and a watch beside it that is killed: what comes of it is compared with what was written.
//!
//! Used by the test `watch` with few checkpoints, and by the program `watched` with many.

mod evidence;
mod play;
mod trainer;
mod variant;

pub use evidence::Evidence;
pub use play::{TrainingRun, play};
pub use trainer::{Trainer, Written};
pub use variant::{Variant, watched_job};
