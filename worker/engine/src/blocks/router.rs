//! The router of a mixture of experts: which experts a row goes to, and with what shares.

use super::Linear;
use crate::kernels::Kernels;
use crate::reproducible::in_whole_vectors;
use tch::{Kind, TchError, Tensor};

/// A row's scores and the choice among them.
pub(crate) struct Router {
    /// `[hidden]` to one score per expert.
    pub(crate) gate: Linear,
    /// Experts per row.
    pub(crate) top_k: i64,
    pub(crate) rule: RoutingRule,
}

/// From scores to shares.
pub(crate) enum RoutingRule {
    /// A softmax over all experts, of those chosen scaled to sum to one if `normalise` (Mixtral, Qwen). Shares are rounded to the
    /// model's kind, in which outputs are added.
    Softmax { normalise: bool },
    /// A softmax over all experts, times `scale` (DeepSeek-V2). The gate and all that follows it is in f32.
    ScaledSoftmax { groups: Option<Groups>, scale: f64 },
    /// Sigmoids, times `scale`, of the experts that are best after a learnt correction, `[experts]` (DeepSeek-V3). The gate and
    /// all that follows it is in f32.
    Sigmoid { correction: Tensor, groups: Option<Groups>, normalise: bool, scale: f64 },
}

/// Groups of experts of equal size: a row's experts are of its best groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) count: i64,
    pub(crate) chosen: i64,
}

/// The experts of each row, `[rows, top_k]`, and their shares.
pub(crate) struct Routes {
    pub(crate) experts: Tensor,
    /// In the kind in which outputs are added.
    pub(crate) shares: Tensor,
}

impl Groups {
    /// Sets the scores, `[rows, experts]`, of all but the best groups to zero; `best` maps `[rows, groups, experts]` to a score of
    /// each group.
    fn mask(self, scores: &Tensor, best: impl FnOnce(&Tensor) -> Result<Tensor, TchError>) -> Result<Tensor, TchError> {
        let (rows, experts) = scores.size2()?;
        let of_groups = best(&scores.f_view([rows, self.count, experts / self.count])?)?;
        let (_, chosen) = of_groups.f_topk(self.chosen, -1, true, true)?;
        let kept = of_groups.f_zeros_like()?.f_scatter_value(1, &chosen, 1.0)?.f_to_kind(Kind::Bool)?;
        let dropped = kept.f_logical_not()?.f_unsqueeze(-1)?;
        let dropped = dropped.f_expand([rows, self.count, experts / self.count], false)?.f_reshape([rows, experts])?;
        scores.f_masked_fill(&dropped, 0.0)
    }
}

impl Router {
    /// Routes the rows of `x`, `[rows, hidden]`.
    pub(super) fn route(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Routes, TchError> {
        let logits = match &self.rule {
            RoutingRule::Softmax { .. } => self.gate.forward(kernels, x)?,
            RoutingRule::ScaledSoftmax { .. } | RoutingRule::Sigmoid { .. } => {
                self.gate.forward(kernels, &x.f_to_kind(Kind::Float)?)?
            }
        };
        kernels.route(&logits, &self.rule, self.top_k, x.kind())
    }
}

impl RoutingRule {
    /// Chooses the experts of each row by its logits, `[rows, experts]`, by libtorch's operations; `kind` is the model's.
    pub(crate) fn choose(&self, logits: &Tensor, top_k: i64, kind: Kind) -> Result<Routes, TchError> {
        match self {
            Self::Softmax { normalise } => {
                let scores = logits.f_softmax(-1, Kind::Float)?;
                let (shares, experts) = scores.f_topk(top_k, -1, true, true)?;
                let shares = if *normalise { shares.f_div(&sum(&shares)?)? } else { shares };
                Ok(Routes { experts, shares: shares.f_to_kind(kind)? })
            }
            Self::ScaledSoftmax { groups, scale } => {
                let scores = logits.f_softmax(-1, Kind::Float)?;
                let scores = match groups {
                    None => scores,
                    Some(groups) => groups.mask(&scores, |grouped| grouped.f_amax([-1i64].as_slice(), false))?,
                };
                let (shares, experts) = scores.f_topk(top_k, -1, true, true)?;
                Ok(Routes { experts, shares: shares.f_mul_scalar(*scale)? })
            }
            Self::Sigmoid { correction, groups, normalise, scale } => {
                let scores = in_whole_vectors(logits, Tensor::f_sigmoid)?;
                let corrected = scores.f_add(correction)?;
                let corrected = match groups {
                    None => corrected,
                    Some(groups) => groups.mask(&corrected, sum_of_two_best)?,
                };
                let (_, experts) = corrected.f_topk(top_k, -1, true, true)?;
                let shares = scores.f_gather(1, &experts, false)?;
                let shares = if *normalise { shares.f_div(&sum(&shares)?.f_add_scalar(1e-20)?)? } else { shares };
                Ok(Routes { experts, shares: shares.f_mul_scalar(*scale)? })
            }
        }
    }
}

fn sum(shares: &Tensor) -> Result<Tensor, TchError> {
    shares.f_sum_dim_intlist([-1i64].as_slice(), true, Kind::Float)
}

/// A group's score: that of its two best experts.
fn sum_of_two_best(grouped: &Tensor) -> Result<Tensor, TchError> {
    let (best, _) = grouped.f_topk(2, -1, true, true)?;
    best.f_sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
}
