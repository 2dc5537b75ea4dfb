//! Building blocks of model families, with the field's names.
//!
//! Every formula follows Hugging Face transformers operation by operation, so that numbers are bit-equal to its sdpa
//! path.

mod activation;
mod attend;
mod attention;
mod experts;
mod latent;
mod linear;
mod mlp;
mod moe;
mod norm;
mod pass;
mod rope_frequencies;
mod rotary;
mod router;

pub(crate) use activation::Activation;
pub(crate) use attend::{BAND, attend, causal_mask, fused, repeated};
pub(crate) use attention::{Attention, AttentionShape, Projections, QkNorm};
pub(crate) use experts::Experts;
pub(crate) use latent::{LatentAttention, LatentQueries, LatentShape};
pub(crate) use linear::Linear;
pub(crate) use mlp::{FeedForward, GateUp, GatedMlp};
pub(crate) use moe::{SharedExpert, SparseMoe};
pub(crate) use norm::{LayerNorm, Norm, RmsNorm};
pub(crate) use pass::Pass;
pub(crate) use rotary::RotaryEmbedding;
pub(crate) use router::Router;
