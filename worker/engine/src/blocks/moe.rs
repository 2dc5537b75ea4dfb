//! Sparse mixture of experts (Shazeer et al. 2017): the router sends each row to a few experts.

use super::router::Router;
use super::{Experts, GatedMlp, Linear};
use crate::kernels::Kernels;
use tch::{TchError, Tensor};

/// Experts, their router, and in some families one expert for every row.
pub(crate) struct SparseMoe {
    pub(crate) router: Router,
    pub(crate) experts: Experts,
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
        let routes = self.router.route(kernels, x)?;
        let pairs = kernels.sort_pairs(&routes, self.experts.count())?;
        let outputs = self.experts.forward(kernels, &kernels.embed(x, &pairs.rows)?, &pairs)?;
        let mixed = kernels.mix(&outputs, &pairs)?;
        let Some(SharedExpert { mlp, gate }) = &self.shared else { return Ok(mixed) };
        let shared = mlp.forward(kernels, x)?;
        match gate {
            None => kernels.add(&mixed, &shared),
            Some(gate) => kernels.add(&mixed, &kernels.gate_rows(&shared, &gate.forward(kernels, x)?)?),
        }
    }

    /// Joins the products of the shared expert.
    pub(crate) fn join(&mut self) -> Result<(), TchError> {
        self.shared.as_mut().map_or(Ok(()), |shared| shared.mlp.join())
    }
}
