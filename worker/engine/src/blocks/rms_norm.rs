//! Root mean square layer normalisation (Zhang and Sennrich 2019), as transformers' `LlamaRMSNorm` computes it.

use tch::{Kind, TchError, Tensor};

/// Scales rows to unit root mean square, then by a learnt weight.
pub(crate) struct RmsNorm {
    weight: Tensor,
    eps: f64,
}

impl RmsNorm {
    /// `weight` is `[hidden]`.
    pub(crate) fn new(weight: Tensor, eps: f64) -> Self {
        Self { weight, eps }
    }

    /// `[rows, hidden]` to the same. In f32, then cast, then weighted: the fused operation differs in bf16.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let wide = x.f_to_kind(Kind::Float)?;
        let variance = wide.f_pow_tensor_scalar(2)?.f_mean_dim([-1i64].as_slice(), true, None)?;
        let scaled = wide.f_mul(&variance.f_add_scalar(self.eps)?.f_rsqrt()?)?;
        self.weight.f_mul(&scaled.f_to_kind(x.kind())?)
    }
}
