//! `[[dataset]]`: rows, prompts and what is computed for each.

pub(crate) mod dataset;
pub(crate) mod hub;
pub(crate) mod infer_cfg;
pub(crate) mod inferencer;
pub(crate) mod retriever;
pub(crate) mod row_range;
pub(crate) mod version;
