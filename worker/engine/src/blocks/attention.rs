//! Causal self-attention with grouped queries (Ainslie et al. 2023): projections, rotation, keys and values, and the rows
//! to which the kernels attend.

use super::{Linear, Pass, RmsNorm};
use crate::kernels::{Kernels, Part, Rotation, ScoreRule};
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

/// Normalisation of queries and of keys.
pub(crate) enum QkNorm {
    /// One norm per head.
    Heads(RmsNorm, RmsNorm),
    /// One norm over all heads of a row (OLMo 2).
    Rows(RmsNorm, RmsNorm),
}

/// Attention of one layer.
pub(crate) struct Attention {
    pub(crate) shape: AttentionShape,
    pub(crate) projections: Projections,
    pub(crate) qk_norm: Option<QkNorm>,
    /// Factor of the queries after their projection.
    pub(crate) query_scale: Option<f64>,
    pub(crate) rule: ScoreRule,
    pub(crate) o_proj: Linear,
}

/// Writes the keys and values of a pass, then attends with its queries, `[rows, heads, head_dim]`, over all keys that they see;
/// returns the same shape.
pub(super) fn write_and_attend(
    pass: &Pass<'_>,
    queries: &Tensor,
    (keys, values): (&Tensor, &Tensor),
    rule: &ScoreRule,
) -> Result<Tensor, TchError> {
    let kernels = pass.kernels();
    let (kv, places) = pass.kv();
    kernels.write(kv, keys, values, places)?;
    if !rule.can_be_merged() {
        return kernels.attend_chains(queries, kv, pass.chains(), rule);
    }
    let parts = pass.levels().iter().map(|level| kernels.attend(queries, kv, level, rule));
    match parts.collect::<Result<Vec<Part>, TchError>>()?.as_slice() {
        [one] => Ok(one.out.shallow_clone()),
        parts => kernels.merge(parts),
    }
}

impl Attention {
    /// Maps the rows of a pass, `[rows, hidden]`, to the same shape. Each segment sees itself causally, and the tokens
    /// before it in its sequence.
    pub(crate) fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        let kernels = pass.kernels();
        let (queries, keys, values) = self.project(kernels, x, rows, pass.rotation())?;
        let mixed = write_and_attend(pass, &queries, (&keys, &values), &self.rule)?;
        self.o_proj.forward(kernels, &mixed.f_reshape([rows, self.shape.q_width()])?)
    }

    /// Joins separate projections to one product.
    pub(crate) fn join(&mut self) -> Result<(), TchError> {
        if let Projections::Separate { q_proj, k_proj, v_proj } = &self.projections
            && let Some(joined) = Linear::joined(&[q_proj, k_proj, v_proj])?
        {
            self.projections = Projections::Fused(joined);
        }
        Ok(())
    }

    /// Queries `[rows, heads, head_dim]`, keys and values `[rows, kv_heads, head_dim]`; the first two normalised and
    /// rotated.
    fn project(
        &self,
        kernels: &dyn Kernels,
        x: &Tensor,
        rows: i64,
        rotation: Option<&Rotation>,
    ) -> Result<(Tensor, Tensor, Tensor), TchError> {
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
                let part = |of: &Tensor, start: i64, heads: i64| of.f_narrow(1, start, heads);
                let values = part(&all, heads + kv_heads, kv_heads)?;
                if let (Some(rotation), None, None) = (rotation, &self.qk_norm, self.query_scale) {
                    // Queries and keys lie side by side, and are rotated together.
                    let turned = kernels.rotate(&part(&all, 0, heads + kv_heads)?, rotation)?;
                    return Ok((part(&turned, 0, heads)?, part(&turned, heads, kv_heads)?, values));
                }
                (part(&all, 0, heads)?, part(&all, heads, kv_heads)?, values)
            }
            Projections::FusedByHead(qkv_proj) => {
                let groups = heads / kv_heads;
                let all = qkv_proj.forward(kernels, x)?.f_view([rows, kv_heads, groups + 2, head_dim])?;
                let queries = all.f_narrow(2, 0, groups)?.f_reshape([rows, heads, head_dim])?;
                (queries, all.f_select(2, groups)?, all.f_select(2, groups + 1)?)
            }
        };
        let queries = match self.query_scale {
            None => queries,
            Some(scale) => kernels.scale(&queries, scale)?,
        };
        let (queries, keys) = match &self.qk_norm {
            None => (queries, keys),
            Some(QkNorm::Heads(q_norm, k_norm)) => {
                (q_norm.forward(kernels, &queries)?, k_norm.forward(kernels, &keys)?)
            }
            Some(QkNorm::Rows(q_norm, k_norm)) => {
                let whole = |norm: &RmsNorm, x: &Tensor| norm.forward(kernels, &x.f_reshape([rows, -1])?);
                (split(&whole(q_norm, &queries)?, heads)?, split(&whole(k_norm, &keys)?, kv_heads)?)
            }
        };
        match rotation {
            None => Ok((queries, keys, values)),
            Some(rotation) => Ok((kernels.rotate(&queries, rotation)?, kernels.rotate(&keys, rotation)?, values)),
        }
    }
}
