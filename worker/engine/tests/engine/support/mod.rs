//! What the integration tests of this package share: where data lies, plans, samples, and a run of an engine.

mod data;
mod model;
mod tiny;

pub(crate) use data::{read_json, read_jsonl, shared};
pub(crate) use model::{gen_spec, generated, loglikelihood_sample, plan, ppl_sample, prompt_sample, run, run_all};
pub(crate) use tiny::{TinyModel, tiny_plan};
