//! Evaluators as accumulators: observe samples in any split, merge, finish.

mod accumulator;
mod choice;
mod correct;
#[cfg(test)]
pub(crate) mod fixture;
mod kind;
mod metrics;
mod proportion;
mod verdict;

pub use accumulator::{Accumulator, MergeError};
pub use kind::EvaluatorKind;
pub use metrics::{ACC_NORM, Counts, Metric, Metrics};
pub use proportion::Proportion;
pub use verdict::{Unscored, Verdict, judge};
