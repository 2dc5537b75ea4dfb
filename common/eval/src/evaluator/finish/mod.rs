//! From the lines of an accumulator to metrics, one rule per file.

mod area;
mod average;
mod bbq;
mod circular;
mod circular_eval;
mod classes;
mod corpus;
mod crows_pairs;
mod mean;
mod numpy;
mod pass_rate;
mod perplexity;
mod replicas;
mod rouge;
mod series;
mod weighted;

pub(super) use corpus::bleu_counts;
pub(super) use series::{Effort, finish};
