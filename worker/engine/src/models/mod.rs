//! Model families: one file each, over shared blocks.

mod causal_lm;
mod decoder;
mod deepseek_v2;
mod deepseek_v3;
mod gemma;
mod gemma2;
mod gemma3;
mod glm;
mod gpt2;
mod gpt_neox;
mod internlm;
mod internlm2;
mod internlm3;
mod llama;
mod meta_llama;
mod mistral;
mod mixtral;
mod olmo2;
mod opt;
mod phi3;
mod pipeline;
mod pre_norm;
mod qwen2;
mod qwen2_moe;
mod qwen3;
mod qwen3_moe;
mod registry;
mod sandwich;

pub(crate) use causal_lm::{CausalLm, LateTokens};
pub(crate) use decoder::{Decoder, Placement};
pub(crate) use pipeline::Stages;
pub(crate) use registry::Family;
