//! Runs samples on a model. The first executor takes one sequence at a time, so that neighbours cannot matter.

mod answer;
mod fit;
mod generate;
mod loglikelihood;
mod plain;
mod ppl;
mod sampling;
mod score;
mod stop;
mod windows;

pub(crate) use plain::PlainExecutor;
