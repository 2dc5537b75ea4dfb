//! Runs samples on a model: scores one sequence at a time, generations many together. Neighbours matter to neither.

mod answer;
mod batching;
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
mod prompting;
mod rolling;
mod runner;
mod sampling;
mod score;
mod settings;
mod stop;
mod talks;
mod texts;
mod windows;

pub(crate) use plain::PlainExecutor;
