//! Support of the integration tests: data, plans, samples, and runs of an engine.

mod data;
mod model;
mod tiny;

pub(crate) use data::{demo_model, golden, read_json, read_jsonl, shared, text, texts};
pub(crate) use model::{
    chat_sample, clp_sample, gen_spec, generated, loglikelihood_sample, plan, ppl_sample, prompt_sample,
    rolling_sample, run, run_all,
};
pub(crate) use tiny::{TinyModel, tiny_plan};
