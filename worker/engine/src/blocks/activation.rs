//! Activation functions under the names that config.json uses, each in transformers' order of operations.

use crate::reproducible::in_whole_vectors;
use tch::{TchError, Tensor};

/// A pointwise non-linearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Silu,
    Relu,
    /// With the error function (Hendrycks and Gimpel 2016).
    Gelu,
    /// With a tanh, as one operation.
    GeluTanh,
    /// The same formula in single operations, as GPT-2 was published.
    GeluNew,
    /// `x sigmoid(1.702 x)`.
    QuickGelu,
}

impl Activation {
    /// Returns the function with this name.
    ///
    /// # Errors
    /// A message that lists the known names.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        Ok(match name {
            "silu" | "swish" => Self::Silu,
            "relu" => Self::Relu,
            "gelu" => Self::Gelu,
            "gelu_pytorch_tanh" => Self::GeluTanh,
            "gelu_new" | "gelu_fast" => Self::GeluNew,
            "quick_gelu" => Self::QuickGelu,
            other => {
                let known = "silu, relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu";
                return Err(format!("activation `{other}` is not supported; supported are: {known}"));
            }
        })
    }

    /// Maps `[..., width]` to the same shape, by libtorch's operations.
    pub(crate) fn of(self, x: &Tensor) -> Result<Tensor, TchError> {
        in_whole_vectors(x, |x| match self {
            Self::Silu => x.f_silu(),
            Self::Relu => x.f_relu(),
            Self::Gelu => x.f_gelu("none"),
            Self::GeluTanh => x.f_gelu("tanh"),
            Self::GeluNew => {
                let cubed = x.f_pow_tensor_scalar(3.0)?.f_mul_scalar(0.044715)?;
                let inner = x.f_add(&cubed)?.f_mul_scalar((2.0 / std::f64::consts::PI).sqrt())?;
                x.f_mul_scalar(0.5)?.f_mul(&inner.f_tanh()?.f_add_scalar(1.0)?)
            }
            Self::QuickGelu => x.f_mul(&x.f_mul_scalar(1.702)?.f_sigmoid()?),
        })
    }
}
