//! Model families: one file each, over shared blocks.

mod causal_lm;
mod llama;

pub(crate) use causal_lm::CausalLm;
pub(crate) use llama::Llama;
