//! Causal self-attention with grouped queries (Ainslie et al. 2023) over libtorch's fused kernel.

use super::{LayerCache, Linear, RotaryEmbedding};
use tch::{TchError, Tensor};

/// Heads and their width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttentionShape {
    pub(crate) heads: i64,
    pub(crate) kv_heads: i64,
    pub(crate) head_dim: i64,
}

/// One layer's attention.
pub(crate) struct Attention {
    pub(crate) shape: AttentionShape,
    pub(crate) q_proj: Linear,
    pub(crate) k_proj: Linear,
    pub(crate) v_proj: Linear,
    pub(crate) o_proj: Linear,
}

impl Attention {
    /// `[rows, hidden]` of consecutive tokens, the first at position `start`, to the same shape.
    ///
    /// Rows see each other causally, and what the cache holds before them. A cache that holds something takes one row at
    /// a time: several rows after a past would need a mask that the fused kernel does not offer.
    pub(crate) fn forward(
        &self,
        x: &Tensor,
        rope: &RotaryEmbedding,
        start: i64,
        cache: Option<&mut LayerCache>,
    ) -> Result<Tensor, TchError> {
        let AttentionShape { heads, kv_heads, head_dim } = self.shape;
        let rows = x.size().first().copied().unwrap_or(0);
        let split = |x: Tensor, heads: i64| x.f_view([1, rows, heads, head_dim])?.f_transpose(1, 2);
        let queries = rope.apply(&split(self.q_proj.forward(x)?, heads)?, start)?;
        let keys = rope.apply(&split(self.k_proj.forward(x)?, kv_heads)?, start)?;
        let values = split(self.v_proj.forward(x)?, kv_heads)?;
        let grouped = heads != kv_heads;
        let attend = |keys: &Tensor, values: &Tensor, causal: bool| {
            Tensor::f_scaled_dot_product_attention(
                &queries,
                keys,
                values,
                None::<&Tensor>,
                0.0,
                causal,
                None::<f64>,
                grouped,
            )
        };
        let mixed = match cache {
            None => attend(&keys, &values, rows > 1)?,
            Some(cache) => {
                let (all_keys, all_values) = cache.append(&keys, &values)?;
                if start == 0 { attend(&keys, &values, rows > 1)? } else { attend(&all_keys, &all_values, false)? }
            }
        };
        self.o_proj.forward(&mixed.f_transpose(1, 2)?.f_reshape([rows, heads * head_dim])?)
    }
}
