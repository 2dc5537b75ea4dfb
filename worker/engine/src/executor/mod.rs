//! Runs samples on a model, batched for efficiency; a sample's numbers never depend on the batch composition.

#[cfg(test)]
mod ahead_tests;
mod answer;
mod batching;
mod bordered;
mod building;
mod clp;
mod conversation;
mod corpus_tokens;
mod decode;
mod fit;
mod generate;
mod generation_batch;
mod generation_defaults;
#[cfg(test)]
mod growth_tests;
mod loglikelihood;
mod marked;
mod masked;
mod model_executor;
mod notes;
mod ppl;
mod prefix_tokens;
mod prompting;
mod rolling;
mod sampling;
mod score;
mod scoring;
mod scoring_batch;
mod scoring_request;
mod settings;
mod stop;
mod swce;
mod texts;
mod thinking;
mod windows;

pub(crate) use batching::{Slots, sequences_at_once, trace};
pub use batching::{Trace, Traced};
pub(crate) use generation_defaults::generation_defaults;
pub(crate) use model_executor::Executor;
pub(crate) use sampling::{Draw, choose};
