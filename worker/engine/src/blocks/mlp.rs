//! Feed-forward layers: gated ones, SwiGLU and GEGLU (Shazeer 2020), and the plain one of the first transformers.

use super::{Activation, Linear};
use crate::kernels::Kernels;
use tch::{TchError, Tensor};

/// `down(act(gate(x)) * up(x))`.
pub(crate) struct GatedMlp {
    pub(crate) gate_up: GateUp,
    pub(crate) down_proj: Linear,
    pub(crate) activation: Activation,
}

/// The two widening products, separate or as one whose first half is the gate.
pub(crate) enum GateUp {
    Separate { gate_proj: Linear, up_proj: Linear },
    Fused(Linear),
}

impl GatedMlp {
    /// Creates a layer from three matrices.
    pub(crate) fn new(gate_proj: Linear, up_proj: Linear, down_proj: Linear, activation: Activation) -> Self {
        Self { gate_up: GateUp::Separate { gate_proj, up_proj }, down_proj, activation }
    }

    /// Returns the weights of the gate, of the other widening product and of the narrowing one; `None` if any has a bias, or two are
    /// joined.
    pub(super) fn plain_weights(&self) -> Option<[&Tensor; 3]> {
        let GateUp::Separate { gate_proj, up_proj } = &self.gate_up else { return None };
        Some([gate_proj.plain_weight()?, up_proj.plain_weight()?, self.down_proj.plain_weight()?])
    }

    /// Joins the two widening products to one.
    pub(crate) fn join(&mut self) -> Result<(), TchError> {
        if let GateUp::Separate { gate_proj, up_proj } = &self.gate_up
            && let Some(joined) = Linear::joined(&[gate_proj, up_proj])?
        {
            self.gate_up = GateUp::Fused(joined);
        }
        Ok(())
    }

    /// Maps `[rows, hidden]` to the same shape.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        let (gate, up) = match &self.gate_up {
            GateUp::Separate { gate_proj, up_proj } => (gate_proj.forward(kernels, x)?, up_proj.forward(kernels, x)?),
            GateUp::Fused(gate_up_proj) => {
                let both = gate_up_proj.forward(kernels, x)?;
                let half = both.size().last().copied().unwrap_or(0) / 2;
                (both.f_narrow(1, 0, half)?, both.f_narrow(1, half, half)?)
            }
        };
        self.down_proj.forward(kernels, &kernels.gate(self.activation, &gate, &up)?)
    }
}

/// `down(act(up(x)))`.
pub(crate) struct FeedForward {
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) activation: Activation,
}

impl FeedForward {
    /// Maps `[rows, hidden]` to the same shape.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        self.down.forward(kernels, &kernels.activate(self.activation, &self.up.forward(kernels, x)?)?)
    }
}
