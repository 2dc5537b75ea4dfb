//! Causal self-attention with grouped queries (Ainslie et al. 2023): projections, rotation, cache. `attend` computes
//! the attention itself.

use super::attend::attend;
use super::{Linear, Pass, RmsNorm};
use crate::kernels::Kernels;
use tch::{TchError, Tensor};

/// Number and width of heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttentionShape {
    pub(crate) heads: i64,
    pub(crate) kv_heads: i64,
    pub(crate) head_dim: i64,
}

impl AttentionShape {
    /// Width of all queries of a row.
    pub(crate) fn q_width(&self) -> i64 {
        self.heads * self.head_dim
    }

    /// Width of all keys, or values, of a row.
    pub(crate) fn kv_width(&self) -> i64 {
        self.kv_heads * self.head_dim
    }
}

/// Projections from hidden states to queries, keys and values.
pub(crate) enum Projections {
    Separate {
        q_proj: Linear,
        k_proj: Linear,
        v_proj: Linear,
    },
    /// One product: all queries, then all keys, then all values.
    Fused(Linear),
    /// One product: for each key-value head its queries, then its key, then its value.
    FusedByHead(Linear),
}

/// Rule from scores to attention weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScoreRule {
    /// Factor of the products of queries and keys; `head_dim ^ -0.5` if absent.
    pub(crate) scale: Option<f64>,
    /// Number of keys that a query sees, itself included; all before it if absent.
    pub(crate) window: Option<i64>,
    /// `cap tanh(score / cap)`.
    pub(crate) softcap: Option<f64>,
}

/// Attention of one layer.
pub(crate) struct Attention {
    pub(crate) shape: AttentionShape,
    pub(crate) projections: Projections,
    /// Normalisation of each query and each key over its head.
    pub(crate) qk_norm: Option<(RmsNorm, RmsNorm)>,
    /// Factor of the queries after their projection.
    pub(crate) query_scale: Option<f64>,
    pub(crate) rule: ScoreRule,
    pub(crate) o_proj: Linear,
}

impl Attention {
    /// Maps the rows of a pass, `[rows, hidden]`, to the same shape. Each segment sees itself causally, and the tokens
    /// before it in its cache.
    pub(crate) fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        let kernels = pass.kernels();
        let (queries, keys, values) = self.project(kernels, x, rows)?;
        let (queries, keys) = match &self.qk_norm {
            None => (queries, keys),
            Some((q_norm, k_norm)) => (q_norm.forward(kernels, &queries)?, k_norm.forward(kernels, &keys)?),
        };
        let heads_first = |x: Tensor| x.f_unsqueeze(0)?.f_transpose(1, 2);
        let (queries, keys, values) = (heads_first(queries)?, heads_first(keys)?, heads_first(values)?);
        let (queries, keys) = match pass.rotation() {
            None => (queries, keys),
            Some(rotation) => (kernels.rotate(&queries, rotation)?, kernels.rotate(&keys, rotation)?),
        };
        let mut mixed = Vec::new();
        for at in pass.segment_rows() {
            let of = |x: &Tensor| x.f_narrow(2, at.start, at.rows);
            let queries = of(&queries)?;
            let (keys, values) = pass.write(&at, &of(&keys)?, &of(&values)?)?;
            let mask = pass.mask(&at, (queries.kind(), queries.device()))?;
            mixed.push(attend(&queries, &keys, &values, mask.as_ref(), &self.rule)?.f_transpose(1, 2)?);
        }
        let mixed = match mixed.as_slice() {
            [one] => one.shallow_clone(),
            many => Tensor::f_cat(many, 1)?,
        };
        self.o_proj.forward(kernels, &mixed.f_reshape([rows, self.shape.q_width()])?)
    }

    /// Queries `[rows, heads, head_dim]`, keys and values `[rows, kv_heads, head_dim]`.
    fn project(&self, kernels: &dyn Kernels, x: &Tensor, rows: i64) -> Result<(Tensor, Tensor, Tensor), TchError> {
        let AttentionShape { heads, kv_heads, head_dim } = self.shape;
        let split = |x: &Tensor, heads: i64| x.f_reshape([rows, heads, head_dim]);
        let (queries, keys, values) = match &self.projections {
            Projections::Separate { q_proj, k_proj, v_proj } => (
                split(&q_proj.forward(kernels, x)?, heads)?,
                split(&k_proj.forward(kernels, x)?, kv_heads)?,
                split(&v_proj.forward(kernels, x)?, kv_heads)?,
            ),
            Projections::Fused(qkv_proj) => {
                let all = qkv_proj.forward(kernels, x)?.f_view([rows, heads + 2 * kv_heads, head_dim])?;
                let part = |start: i64, heads: i64| all.f_narrow(1, start, heads);
                (part(0, heads)?, part(heads, kv_heads)?, part(heads + kv_heads, kv_heads)?)
            }
            Projections::FusedByHead(qkv_proj) => {
                let groups = heads / kv_heads;
                let all = qkv_proj.forward(kernels, x)?.f_view([rows, kv_heads, groups + 2, head_dim])?;
                let queries = all.f_narrow(2, 0, groups)?.f_reshape([rows, heads, head_dim])?;
                (queries, all.f_select(2, groups)?, all.f_select(2, groups + 1)?)
            }
        };
        match self.query_scale {
            None => Ok((queries, keys, values)),
            Some(scale) => Ok((queries.f_mul_scalar(scale)?, keys, values)),
        }
    }
}
