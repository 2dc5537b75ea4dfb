//! Evaluators as accumulators: observe samples in any split, merge, finish.
//!
//! A sample is read ([`reading`]), judged by the evaluator that the plan names ([`dispatch`]), and gives a share to each line
//! of the results ([`share`]); lines merge ([`line`]) and finish into metrics ([`finish`]).

mod accumulator;
mod bbq;
mod canonical;
mod choice;
mod circular;
mod converted;
mod corpus;
mod dispatch;
mod equality;
mod exact_match;
mod execution;
mod finish;
#[cfg(test)]
pub(crate) mod fixture;
mod instruction;
mod labels;
mod likelihood;
mod line;
mod metrics;
mod multiple_choice;
mod option_similarity;
mod pipeline;
#[cfg(test)]
mod properties;
mod proportion;
mod question;
mod reading;
mod share;
mod text_check;
mod text_score;
mod theorem;
mod truthful;
mod verdict;

pub use accumulator::{Accumulator, MergeError};
pub use canonical::EVAL_VERSION;
pub use execution::{executed, programs};
pub use metrics::{ACC_NORM, Counts, Metric, Metrics};
pub use proportion::{Proportion, Z_95};
pub use share::{Item, Rule, Scale, Share};
pub use verdict::{Unscored, Verdict, judge};
