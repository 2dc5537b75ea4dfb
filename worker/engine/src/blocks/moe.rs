//! Sparse mixture of experts (Shazeer et al. 2017): the router sends each row to a few experts.

use super::router::{Router, Routes};
use super::{GatedMlp, Linear};
use crate::kernels::Kernels;
use crate::reproducible::in_whole_vectors;
use tch::{TchError, Tensor};

/// Experts, their router, and in some families one expert for every row.
pub(crate) struct SparseMoe {
    pub(crate) router: Router,
    pub(crate) experts: Vec<GatedMlp>,
    pub(crate) shared: Option<SharedExpert>,
}

/// An expert for every row.
pub(crate) struct SharedExpert {
    pub(crate) mlp: GatedMlp,
    /// `[hidden]` to one number, whose sigmoid is the expert's share; added whole if absent.
    pub(crate) gate: Option<Linear>,
}

impl SparseMoe {
    /// Maps `[rows, hidden]` to the same shape. A row adds its experts in the order of their numbers, so that its bits
    /// do not depend on the experts of other rows.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        let Routes { experts: chosen, shares } = self.router.route(kernels, x)?;
        let mut mixed = x.f_zeros_like()?.f_to_kind(shares.kind())?;
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
        let mixed = mixed.f_to_kind(x.kind())?;
        match &self.shared {
            None => Ok(mixed),
            Some(SharedExpert { mlp, gate: None }) => mixed.f_add(&mlp.forward(kernels, x)?),
            Some(SharedExpert { mlp, gate: Some(gate) }) => {
                let share = in_whole_vectors(&gate.forward(kernels, x)?, Tensor::f_sigmoid)?;
                mixed.f_add(&share.f_mul(&mlp.forward(kernels, x)?)?)
            }
        }
    }
}
