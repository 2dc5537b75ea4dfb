//! The gated feed-forward layer, SwiGLU (Shazeer 2020).

use super::Linear;
use crate::reproducible::on_one_thread;
use tch::{TchError, Tensor};

/// `down(silu(gate(x)) * up(x))`.
pub(crate) struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

impl Mlp {
    /// `[rows, hidden]` to the same.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let gate = self.gate_proj.forward(x)?;
        let gate = on_one_thread(gate.numel(), || gate.f_silu())?;
        self.down_proj.forward(&gate.f_mul(&self.up_proj.forward(x)?)?)
    }
}
