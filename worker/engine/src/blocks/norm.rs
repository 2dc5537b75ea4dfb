//! Normalisation of rows: root mean square (Zhang and Sennrich 2019) and mean with variance (Ba et al. 2016).

use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use tch::{Kind, TchError, Tensor};

/// Either kind of normalisation.
pub(crate) enum Norm {
    Rms(RmsNorm),
    Layer(LayerNorm),
}

impl Norm {
    /// Maps `[..., width]` to the same shape.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        match self {
            Self::Rms(norm) => norm.forward(x),
            Self::Layer(norm) => norm.forward(x),
        }
    }
}

/// Scales rows to unit root mean square, then by a learnt weight.
pub(crate) struct RmsNorm {
    weight: Tensor,
    eps: f64,
    /// Whether the weight is a difference from one and applied before the cast back, as in Gemma.
    from_one: bool,
}

impl RmsNorm {
    /// Loads `<name>.weight`, `[width]`.
    pub(crate) fn load(weights: &mut Weights, name: &str, width: i64, eps: f64) -> Result<Self, EngineFault> {
        Ok(Self { weight: weights.take(&format!("{name}.weight"), &[width])?, eps, from_one: false })
    }

    /// Loads a weight in Gemma's form.
    pub(crate) fn load_from_one(weights: &mut Weights, name: &str, width: i64, eps: f64) -> Result<Self, EngineFault> {
        Ok(Self { from_one: true, ..Self::load(weights, name, width, eps)? })
    }

    /// Maps `[..., width]` to the same shape. In f32, then cast, then weighted: the fused operation differs in bf16.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let wide = x.f_to_kind(Kind::Float)?;
        let variance = wide.f_pow_tensor_scalar(2)?.f_mean_dim([-1i64].as_slice(), true, None)?;
        let scaled = wide.f_mul(&variance.f_add_scalar(self.eps)?.f_rsqrt()?)?;
        if self.from_one {
            return scaled.f_mul(&self.weight.f_to_kind(Kind::Float)?.f_add_scalar(1.0)?)?.f_to_kind(x.kind());
        }
        self.weight.f_mul(&scaled.f_to_kind(x.kind())?)
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
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        x.f_layer_norm(self.weight.size(), Some(&self.weight), Some(&self.bias), self.eps, true)
    }
}
