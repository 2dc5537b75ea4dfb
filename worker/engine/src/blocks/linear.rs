//! Matrix product with learnt weights.

use crate::fault::device_fault;
use crate::kernels::Kernels;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use tch::{TchError, Tensor};

/// `y = x W^T + b`.
pub(crate) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// Creates a product from `weight`, `[out, in]`, and `bias`, `[out]`.
    pub(crate) fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight, bias }
    }

    /// Loads `<name>.weight`, `[out, in]`, and if `biased` `<name>.bias`, `[out]`.
    pub(crate) fn load(
        weights: &mut Weights,
        name: &str,
        (out, inner): (i64, i64),
        biased: bool,
    ) -> Result<Self, EngineFault> {
        let weight = weights.take(&format!("{name}.weight"), &[out, inner])?;
        let bias = if biased { Some(weights.take(&format!("{name}.bias"), &[out])?) } else { None };
        Ok(Self::new(weight, bias))
    }

    /// Loads `<name>.weight`, `[out, in]`, to compute in f32 whatever the model's kind.
    pub(crate) fn load_wide(weights: &mut Weights, name: &str, (out, inner): (i64, i64)) -> Result<Self, EngineFault> {
        Ok(Self::new(weights.take_wide(&format!("{name}.weight"), &[out, inner])?, None))
    }

    /// Loads GPT-2's `Conv1D` with a bias, whose weight is stored as `[in, out]`.
    pub(crate) fn load_transposed(
        weights: &mut Weights,
        name: &str,
        (out, inner): (i64, i64),
    ) -> Result<Self, EngineFault> {
        let weight = weights.take(&format!("{name}.weight"), &[inner, out])?;
        let bias = weights.take(&format!("{name}.bias"), &[out])?;
        Ok(Self::new(weight.f_transpose(0, 1).map_err(|error| device_fault(&error))?, Some(bias)))
    }

    /// Joins products of the same rows to one, whose columns are theirs one after the other; `None` if only some have
    /// biases.
    pub(crate) fn joined(parts: &[&Self]) -> Result<Option<Self>, TchError> {
        let biases: Vec<&Tensor> = parts.iter().filter_map(|part| part.bias.as_ref()).collect();
        if !biases.is_empty() && biases.len() < parts.len() {
            return Ok(None);
        }
        let weights: Vec<&Tensor> = parts.iter().map(|part| &part.weight).collect();
        let bias = if biases.is_empty() { None } else { Some(Tensor::f_cat(&biases, 0)?) };
        Ok(Some(Self::new(Tensor::f_cat(&weights, 0)?, bias)))
    }

    /// Returns the weight, `[out, in]`, if there is no bias.
    pub(super) fn plain_weight(&self) -> Option<&Tensor> {
        self.bias.is_none().then_some(&self.weight)
    }

    /// Maps `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, kernels: &dyn Kernels, x: &Tensor) -> Result<Tensor, TchError> {
        kernels.linear(x, &self.weight, self.bias.as_ref())
    }
}
