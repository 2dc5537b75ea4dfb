//! From the lines of an accumulator to metrics, one rule per file.

mod average;
mod bootstrap;
mod circular;
mod line;
mod mean;
mod numpy;
mod perplexity;
mod replicas;
mod weighted;

pub(super) use line::{Effort, finish};
