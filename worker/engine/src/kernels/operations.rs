//! The interface between the forward pass and a device.

use crate::blocks::{Activation, Rotation};
use tch::{TchError, Tensor};

/// Operations of a forward pass.
///
/// Invariant: no row of a result depends on the number of rows, nor on the other rows, to the bit. Everything that a
/// forward pass computes goes through here; what lies between two calls only views tensors otherwise.
pub(crate) trait Kernels {
    /// Returns rows `ids` of `table`, `[ids, width]`.
    fn embed(&self, table: &Tensor, ids: &Tensor) -> Result<Tensor, TchError>;

    /// `x W^T + b`: maps `[rows, in]` by `weight`, `[out, in]`, and `bias`, `[out]`, to `[rows, out]`.
    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError>;

    /// Scales rows, `[..., width]`, to unit root mean square, then by `weight`; if `from_one`, by one more than
    /// `weight`, as in Gemma.
    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f64, from_one: bool) -> Result<Tensor, TchError>;

    /// Scales rows, `[..., width]`, to mean 0 and variance 1, then by `weight` and `bias`.
    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor, TchError>;

    /// Applies a pointwise non-linearity to `[..., width]`.
    fn activate(&self, activation: Activation, x: &Tensor) -> Result<Tensor, TchError>;

    /// `activation(gate) * up`, each `[rows, width]`.
    fn gate(&self, activation: Activation, gate: &Tensor, up: &Tensor) -> Result<Tensor, TchError>;

    /// `a + b`, of one shape.
    fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError>;

    /// Rotates the first entries of each head of `x`, `[1, heads, rows, head_dim]`, each row by its own position.
    fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Tensor, TchError>;
}
