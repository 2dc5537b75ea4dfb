//! Building blocks of model families, with the field's names.
//!
//! Every formula follows Hugging Face transformers operation by operation, so that numbers are bit-equal to its sdpa
//! path.

mod activation;
mod attend;
mod attention;
mod kv_cache;
mod linear;
mod mlp;
mod moe;
mod norm;
mod pass;
mod rope_frequencies;
mod rotary;

pub(crate) use activation::Activation;
pub(crate) use attention::{Attention, AttentionShape, Projections, ScoreRule};
pub(crate) use kv_cache::KvCache;
pub(crate) use linear::Linear;
pub(crate) use mlp::{FeedForward, GateUp, GatedMlp};
pub(crate) use moe::{SharedExpert, SparseMoe};
pub(crate) use norm::{LayerNorm, Norm, RmsNorm};
pub(crate) use pass::{Pass, Segment};
pub(crate) use rotary::{RotaryEmbedding, Rotation};
