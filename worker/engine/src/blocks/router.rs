//! The router of a mixture of experts: the experts of each row, and their shares.

use super::Linear;
use crate::kernels::{Groups, Kernels, Routes, RoutingRule};
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

impl Groups {
    /// Sets the scores, `[rows, experts]`, of all but the best groups to `dropped`; `best` maps `[rows, groups, experts]` to a score
    /// of each group.
    fn mask(
        self,
        scores: &Tensor,
        dropped: f64,
        best: impl FnOnce(&Tensor) -> Result<Tensor, TchError>,
    ) -> Result<Tensor, TchError> {
        let (rows, experts) = scores.size2()?;
        let of_groups = best(&scores.f_view([rows, self.count, experts / self.count])?)?;
        let (_, chosen) = of_groups.f_topk(self.chosen, -1, true, true)?;
        let kept = of_groups.f_zeros_like()?.f_scatter_value(1, &chosen, 1.0)?.f_to_kind(Kind::Bool)?;
        let others = kept.f_logical_not()?.f_unsqueeze(-1)?;
        let others = others.f_expand([rows, self.count, experts / self.count], false)?.f_reshape([rows, experts])?;
        scores.f_masked_fill(&others, dropped)
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
                    Some(groups) => groups.mask(&scores, 0.0, |grouped| grouped.f_amax([-1i64].as_slice(), false))?,
                };
                let (shares, experts) = scores.f_topk(top_k, -1, true, true)?;
                Ok(Routes { experts, shares: shares.f_mul_scalar(*scale)? })
            }
            Self::Sigmoid { correction, groups, normalise, scale } => {
                let scores = in_whole_vectors(logits, Tensor::f_sigmoid)?;
                let corrected = scores.f_add(correction)?;
                let corrected = match groups {
                    None => corrected,
                    // Corrected scores may be negative: a zero would beat them. DeepSeek's own code and transformers 5 have this;
                    // transformers 4.57 has zero.
                    Some(groups) => groups.mask(&corrected, f64::NEG_INFINITY, sum_of_two_best)?,
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

/// Returns a group's score: the sum of its two best experts.
fn sum_of_two_best(grouped: &Tensor) -> Result<Tensor, TchError> {
    let (best, _) = grouped.f_topk(2, -1, true, true)?;
    best.f_sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    /// The experts of a row and their shares, by DeepSeek's formula (`Gate` of its `inference/model.py`) in plain loops.
    fn reference(logits: &[f32], correction: &[f32], groups: Groups, top_k: usize, scale: f32) -> Vec<(usize, f32)> {
        let scores: Vec<f32> = logits.iter().map(|logit| 1.0 / (1.0 + (-logit).exp())).collect();
        let corrected: Vec<f32> = scores.iter().zip(correction).map(|(score, bias)| score + bias).collect();
        let size = logits.len() / groups.count as usize;
        let two_best = |group: usize| {
            let mut of_group = corrected[group * size..(group + 1) * size].to_vec();
            of_group.sort_by(|a, b| b.total_cmp(a));
            of_group[0] + of_group[1]
        };
        let mut order: Vec<usize> = (0..groups.count as usize).collect();
        order.sort_by(|a, b| two_best(*b).total_cmp(&two_best(*a)));
        let kept = &order[..groups.chosen as usize];
        let mut experts: Vec<usize> = (0..logits.len()).filter(|expert| kept.contains(&(expert / size))).collect();
        experts.sort_by(|a, b| corrected[*b].total_cmp(&corrected[*a]));
        experts.truncate(top_k);
        let sum: f32 = experts.iter().map(|expert| scores[*expert]).sum();
        experts.into_iter().map(|expert| (expert, scores[expert] / (sum + 1e-20) * scale)).collect()
    }

    #[test]
    fn experts_of_dropped_groups_are_never_chosen_however_low_the_others_score() {
        tch::manual_seed(11);
        let (rows, experts, groups) = (40, 12, Groups { count: 4, chosen: 2 });
        let logits = Tensor::randn([rows, experts], (Kind::Float, Device::Cpu)) * 2.0;
        // All corrected scores are negative, some are, and none is.
        for shift in [-3.0, -0.6, 1.0] {
            let correction = Tensor::randn([experts], (Kind::Float, Device::Cpu)) * 0.2 + shift;
            let biases = Vec::<f32>::try_from(&correction).unwrap();
            let rule = RoutingRule::Sigmoid { correction, groups: Some(groups), normalise: true, scale: 2.5 };
            let routes = rule.choose(&logits, 5, Kind::Float).unwrap();
            for row in 0..rows {
                let of_row = Vec::<f32>::try_from(&logits.get(row)).unwrap();
                let chosen = Vec::<i64>::try_from(&routes.experts.get(row)).unwrap();
                let shares = Vec::<f32>::try_from(&routes.shares.get(row)).unwrap();
                let expected = reference(&of_row, &biases, groups, 5, 2.5);
                for ((expert, share), (wanted, wanted_share)) in chosen.iter().zip(&shares).zip(&expected) {
                    assert_eq!(*expert as usize, *wanted, "shift {shift}, row {row}: {chosen:?} {expected:?}");
                    assert!((share - wanted_share).abs() < 1e-6, "shift {shift}, row {row}: {shares:?} {expected:?}");
                }
            }
        }
    }
}
