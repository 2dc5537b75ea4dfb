//! Layers whose halves have a norm of their output, inside the addition: in Gemma 2 and 3 and GLM-4, which also have a norm before
//! each half, and in OLMo 2, which has none there.

use super::decoder::DecoderLayer;
use crate::blocks::{Attention, GatedMlp, Pass, RmsNorm};
use crate::kernels::Kernels;
use tch::{TchError, Tensor};

/// `x + norm(attention(norm(x)))`, then `x + norm(feed_forward(norm(x)))`.
pub(crate) struct SandwichLayer {
    pub(crate) before_attention: Option<RmsNorm>,
    pub(crate) self_attn: Attention,
    pub(crate) after_attention: RmsNorm,
    pub(crate) before_mlp: Option<RmsNorm>,
    pub(crate) mlp: GatedMlp,
    pub(crate) after_mlp: RmsNorm,
    /// Place of the layer's rotation in the model's list.
    pub(crate) rotation: usize,
}

/// Returns the rows, normalised if there is a norm.
fn normed(norm: Option<&RmsNorm>, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
    norm.map_or_else(|| Ok(x.shallow_clone()), |norm| norm.forward(kernels, x))
}

impl DecoderLayer for SandwichLayer {
    fn forward(&self, x: &Tensor, pass: &mut Pass<'_>) -> Result<Tensor, TchError> {
        let kernels = pass.kernels();
        pass.select_rotation(self.rotation);
        let attended = self.self_attn.forward(&normed(self.before_attention.as_ref(), kernels, x)?, pass)?;
        let x = kernels.add(x, &self.after_attention.forward(kernels, &attended)?)?;
        let fed = self.mlp.forward(kernels, &normed(self.before_mlp.as_ref(), kernels, &x)?)?;
        kernels.add(&x, &self.after_mlp.forward(kernels, &fed)?)
    }

    fn join(&mut self) -> Result<(), TchError> {
        self.self_attn.join()?;
        self.mlp.join()
    }
}
