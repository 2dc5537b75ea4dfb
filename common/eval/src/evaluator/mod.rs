//! Evaluators as accumulators: observe samples in any split, merge, finish.
//!
//! A sample is read ([`output`]), judged by the evaluator that the plan names ([`dispatch`]), and gives a contribution to each line
//! of the results ([`share`]); lines merge ([`line`]) and finish into metrics ([`finish`]).

mod accumulator;
mod answers;
mod bbq;
mod canonical;
mod choice;
mod circular;
mod circular_eval;
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
mod judge;
mod labels;
mod likelihood;
mod metric_contribution;
mod metrics;
mod multiple_choice;
mod option_similarity;
mod parsed_output;
mod pipeline;
#[cfg(test)]
mod properties;
mod proportion;
mod read_gold;
mod reading;
mod sample_score;
mod scored_answer;
mod series;
mod text_check;
mod text_score;
mod theorem;
mod truthful;
mod unscored;
mod votes;

pub use accumulator::{Accumulator, MergeError};
pub use answers::{AnswerClass, AnswerFigures, AnswerSummary, Classes, Lengths, OpenBounds, classes};
pub use canonical::EVAL_VERSION;
pub use execution::{executed, programs};
pub use judge::judge;
pub use metric_contribution::{Aggregation, Bounds, MetricContribution, SampleValue, Scale};
pub use metrics::{ACC_NORM, AtK, ByK, Counts, Metric, Metrics, READ_ACCURACY};
pub use proportion::{Proportion, Z_95};
pub use reading::{SecondAnswer, read_again, second_answers};
pub use sample_score::SampleScore;
pub use scored_answer::processed;
pub use unscored::Unscored;
