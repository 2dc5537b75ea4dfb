//! Building blocks that model families share, named as the field names them.
//!
//! Every formula follows Hugging Face transformers operation by operation, so that numbers are bit-equal to its sdpa path.

mod attention;
mod kv_cache;
mod linear;
mod mlp;
mod rms_norm;
mod rotary;

pub(crate) use attention::{Attention, AttentionShape};
pub(crate) use kv_cache::{KvCache, LayerCache};
pub(crate) use linear::{Linear, added_rows};
pub(crate) use mlp::Mlp;
pub(crate) use rms_norm::RmsNorm;
pub(crate) use rotary::RotaryEmbedding;
