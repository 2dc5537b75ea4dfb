//! Multi-head latent attention (DeepSeek-V2 2024): keys and values are made of a narrow latent row, and a part of each key, the same
//! in all heads, is rotated.
//!
//! The arena holds the same as the cache of transformers, whole keys and values of every head, so that the numbers follow its
//! formula; values, which are narrower than keys, are filled with zeros there. That costs a fifth more memory at DeepSeek's widths
//! (192 and 128) than a separate width of values, and every kernel of attention, which knows one width, works.

use super::attention::write_and_attend;
use super::{Linear, Pass, RmsNorm};
use crate::kernels::{Kernels, ScoreRule};
use tch::{TchError, Tensor};

/// Number and widths of heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatentShape {
    pub(crate) heads: i64,
    /// Width of the part of queries and keys that is not rotated.
    pub(crate) nope: i64,
    /// Width of the rotated part.
    pub(crate) rope: i64,
    /// Width of values; at most that of keys.
    pub(crate) value: i64,
    /// Width of the latent rows.
    pub(crate) latent: i64,
}

impl LatentShape {
    /// Width of a query or a key.
    pub(crate) fn key(&self) -> i64 {
        self.nope + self.rope
    }
}

/// Projection to queries: one product, or two with a norm of a narrow row between them.
pub(crate) enum LatentQueries {
    Direct(Linear),
    LowRank { q_a_proj: Linear, q_a_layernorm: RmsNorm, q_b_proj: Linear },
}

/// Attention of one layer.
pub(crate) struct LatentAttention {
    pub(crate) shape: LatentShape,
    pub(crate) queries: LatentQueries,
    /// To a latent row and the rotated part of its keys.
    pub(crate) kv_a_proj_with_mqa: Linear,
    pub(crate) kv_a_layernorm: RmsNorm,
    /// From a latent row to the rest of its keys, and its values, head by head.
    pub(crate) kv_b_proj: Linear,
    pub(crate) rule: ScoreRule,
    pub(crate) o_proj: Linear,
}

impl LatentQueries {
    fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Direct(q_proj) => q_proj.forward(kernels, x),
            Self::LowRank { q_a_proj, q_a_layernorm, q_b_proj } => {
                q_b_proj.forward(kernels, &q_a_layernorm.forward(kernels, &q_a_proj.forward(kernels, x)?)?)
            }
        }
    }
}

impl LatentAttention {
    /// Maps the rows of a pass, `[rows, hidden]`, to the same shape, as [`super::Attention::forward`] does.
    pub(crate) fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        let kernels = pass.kernels();
        let LatentShape { heads, nope, rope, value, latent } = self.shape;
        let rotated = |x: &Tensor| match pass.rotation() {
            None => Ok(x.shallow_clone()),
            Some(rotation) => kernels.rotate(x, rotation),
        };
        let queries = self.queries.forward(kernels, x)?.f_view([rows, heads, nope + rope])?;
        let q_rope = rotated(&queries.f_narrow(2, nope, rope)?)?;
        let queries = kernels.concat(&[&queries.f_narrow(2, 0, nope)?, &q_rope])?;
        let compressed = self.kv_a_proj_with_mqa.forward(kernels, x)?;
        let k_rope = rotated(&compressed.f_narrow(1, latent, rope)?.f_unsqueeze(1)?)?;
        let latent_rows = self.kv_a_layernorm.forward(kernels, &compressed.f_narrow(1, 0, latent)?)?;
        let kv = self.kv_b_proj.forward(kernels, &latent_rows)?.f_view([rows, heads, nope + value])?;
        let keys = kernels.concat(&[&kv.f_narrow(2, 0, nope)?, &k_rope.f_expand([rows, heads, rope], false)?])?;
        let mixed = write_and_attend(pass, &queries, (&keys, &kv.f_narrow(2, nope, value)?), &self.rule)?;
        let mixed = mixed.f_narrow(2, 0, value)?.f_reshape([rows, heads * value])?;
        self.o_proj.forward(kernels, &mixed)
    }
}
