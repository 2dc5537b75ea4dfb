//! Normalisation of rows: root mean square (Zhang and Sennrich 2019) and mean with variance (Ba et al. 2016).

use crate::kernels::{Kernels, RmsForm};
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use tch::{TchError, Tensor};

/// Either kind of normalisation.
pub(crate) enum Norm {
    Rms(RmsNorm),
    Layer(LayerNorm),
}

impl Norm {
    /// Maps `[..., width]` to the same shape.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Rms(norm) => norm.forward(kernels, x),
            Self::Layer(norm) => norm.forward(kernels, x),
        }
    }
}

/// Scales rows to unit root mean square, then by a learnt weight.
pub(crate) struct RmsNorm {
    weight: Tensor,
    eps: f64,
    form: RmsForm,
}

impl RmsNorm {
    /// Loads `<name>.weight`, `[width]`.
    pub(crate) fn load(weights: &mut Weights, name: &str, width: i64, eps: f64) -> Result<Self, EngineFault> {
        Self::load_as(weights, name, width, (eps, RmsForm::AfterCast))
    }

    /// Loads `<name>.weight`, `[width]`, which is applied in this form.
    pub(crate) fn load_as(
        weights: &mut Weights,
        name: &str,
        width: i64,
        (eps, form): (f64, RmsForm),
    ) -> Result<Self, EngineFault> {
        Ok(Self { weight: weights.take(&format!("{name}.weight"), &[width])?, eps, form })
    }

    /// Maps `[..., width]` to the same shape.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        kernels.rms_norm(x, &self.weight, self.eps, self.form)
    }

    /// Returns `a + b`, `[..., width]`, and what this maps it to.
    pub(crate) fn of_sum(&self, kernels: &dyn Kernels, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor), TchError> {
        kernels.add_and_norm((a, b), &self.weight, self.eps, self.form)
    }
}

/// Scales rows to mean 0 and variance 1, then by a learnt weight and bias.
pub(crate) struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
    eps: f64,
}

impl LayerNorm {
    /// Loads `<name>.weight` and `<name>.bias`, `[width]` each.
    pub(crate) fn load(weights: &mut Weights, name: &str, width: i64, eps: f64) -> Result<Self, EngineFault> {
        let weight = weights.take(&format!("{name}.weight"), &[width])?;
        Ok(Self { weight, bias: weights.take(&format!("{name}.bias"), &[width])?, eps })
    }

    /// Maps `[..., width]` to the same shape.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        kernels.layer_norm(x, &self.weight, &self.bias, self.eps)
    }
}
