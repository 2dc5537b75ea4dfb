//! `config.json` and `generation_config.json` of a Hugging Face directory, or their equivalents in other layouts.

mod culprit;
mod file;
mod llama_shape;
mod renamed;
mod rope;
mod sizes;

pub(crate) use file::{ModelConfig, read_json};
pub(crate) use llama_shape::{LlamaDefaults, LlamaShape};
pub(crate) use rope::{RopeConfig, RopeScaling, Yarn};
