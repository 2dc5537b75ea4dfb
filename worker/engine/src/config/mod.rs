//! `config.json` and `generation_config.json` of a Hugging Face directory, read into what the models need.

mod file;
mod llama_shape;
mod rope;

pub(crate) use file::{ModelConfig, read_json};
pub(crate) use llama_shape::{LlamaDefaults, LlamaShape};
pub(crate) use rope::{RopeConfig, RopeScaling, Yarn};
