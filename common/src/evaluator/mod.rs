//! Evaluators as accumulators: observe samples in any split, merge, finish.
//!
//! A sample is read ([`reading`]), judged by the evaluator that the plan names ([`dispatch`]), and gives a share to each line
//! of the results ([`share`]); lines merge ([`line`]) and finish into metrics ([`finish`]).

mod accumulator;
mod choice;
mod circular;
mod dispatch;
mod equality;
mod finish;
#[cfg(test)]
pub(crate) mod fixture;
mod likelihood;
mod line;
mod metrics;
mod multiple_choice;
#[cfg(test)]
mod properties;
mod proportion;
mod question;
mod reading;
mod share;
mod spec;
mod verdict;

pub use accumulator::{Accumulator, MergeError};
pub use metrics::{ACC_NORM, Counts, Metric, Metrics};
pub use proportion::{Proportion, Z_95};
pub use share::{Item, Rule, Scale, Share};
pub use spec::{ChoiceMetric, EvaluatorSpec};
pub use verdict::{Unscored, Verdict, judge};
