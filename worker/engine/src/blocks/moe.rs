//! Sparse mixture of experts (Shazeer et al. 2017): the router sends each row to a few experts.

use super::{GatedMlp, Linear};
use crate::kernels::Kernels;
use crate::reproducible::in_whole_vectors;
use tch::{Kind, TchError, Tensor};

/// Experts, their router, and in some families one expert for every row.
pub(crate) struct SparseMoe {
    /// The router: `[hidden]` to one score per expert.
    pub(crate) gate: Linear,
    pub(crate) experts: Vec<GatedMlp>,
    /// Experts per row.
    pub(crate) top_k: i64,
    /// Whether the weights of the chosen experts are scaled to sum to one.
    pub(crate) normalise: bool,
    pub(crate) shared: Option<SharedExpert>,
}

/// An expert for every row, weighted by its own gate.
pub(crate) struct SharedExpert {
    pub(crate) mlp: GatedMlp,
    /// `[hidden]` to one number.
    pub(crate) gate: Linear,
}

impl SparseMoe {
    /// Maps `[rows, hidden]` to the same shape. A row adds its experts in the order of their numbers, so that its bits
    /// do not depend on the experts of other rows.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        let scores = self.gate.forward(kernels, x)?.f_softmax(-1, Kind::Float)?;
        let (mut shares, chosen) = scores.f_topk(self.top_k, -1, true, true)?;
        if self.normalise {
            shares = shares.f_div(&shares.f_sum_dim_intlist([-1i64].as_slice(), true, Kind::Float)?)?;
        }
        let shares = shares.f_to_kind(x.kind())?;
        let mut mixed = x.f_zeros_like()?;
        for (number, expert) in self.experts.iter().enumerate() {
            // Pairs of a row and the rank of this expert in it.
            let places = chosen.f_eq(number as i64)?.f_nonzero()?;
            if places.size().first() == Some(&0) {
                continue;
            }
            let (rows, ranks) = (places.f_select(1, 0)?, places.f_select(1, 1)?);
            let share = shares.f_index(&[Some(&rows), Some(&ranks)])?.f_unsqueeze(1)?;
            let output = expert.forward(kernels, &x.f_index_select(0, &rows)?)?.f_mul(&share)?;
            mixed = mixed.f_index_add_(0, &rows, &output)?;
        }
        match &self.shared {
            None => Ok(mixed),
            Some(SharedExpert { mlp, gate }) => {
                let share = in_whole_vectors(&gate.forward(kernels, x)?, Tensor::f_sigmoid)?;
                mixed.f_add(&share.f_mul(&mlp.forward(kernels, x)?)?)
            }
        }
    }
}
