//! Runs samples on a model. The first executor takes one sequence at a time, so that neighbours cannot matter.

mod answer;
mod chat_format;
mod clp;
mod conversation;
mod decode;
mod fit;
mod generate;
mod generation_defaults;
mod loglikelihood;
mod masked;
mod notes;
mod plain;
mod ppl;
mod rolling;
mod runner;
mod sampling;
mod score;
mod settings;
mod stop;
mod texts;
mod windows;

pub(crate) use plain::PlainExecutor;
