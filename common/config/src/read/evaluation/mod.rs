//! `eval_cfg`: evaluators, their parameters, and what an answer is taken from.

pub(crate) mod eval_cfg;
pub(crate) mod evaluator;
pub(crate) mod filter;
pub(crate) mod fit;
pub(crate) mod names;
pub(crate) mod parameters;
pub(crate) mod postprocessor;
pub(crate) mod reading;
