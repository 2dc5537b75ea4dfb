//! From the lines of an accumulator to metrics, one rule per file.

mod area;
mod average;
mod bbq;
mod by_k;
mod circular;
mod circular_eval;
mod classes;
mod corpus;
mod crows_pairs;
mod effort;
mod mean;
mod numpy;
mod pass_rate;
mod perplexity;
mod replicas;
mod rouge;
mod series;
mod weighted;

pub(super) use by_k::by_k;
pub(super) use corpus::bleu_counts;
pub(super) use effort::Effort;
pub(super) use series::finish;
