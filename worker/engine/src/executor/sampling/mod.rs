//! Choice of the next token as pure functions: rules on logits, and random numbers identified by sample.

mod choose;
mod philox;
mod rules;

pub(crate) use choose::{Draw, choose};
pub(super) use rules::LogitsRules;
