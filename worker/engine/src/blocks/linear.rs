//! Matrix product whose rows do not depend on the number of rows.
//!
//! fp32 `linear` on libtorch's CPU path is bit-equal for every row count from 16 up, and not below, where it uses
//! another kernel. On CUDA, cuBLASLt without a workspace (the agent sets its engines' environment so) was measured
//! bit-equal in fp32 from 17 rows up and in bf16 from one, on an H100 with rows of 1 to 2048. So fewer rows are padded
//! with zeros, and a row's bits are its own.

use crate::fault::device_fault;
use crate::reproducible::alone_if_narrow;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use tch::{Device, TchError, Tensor};

/// Minimum number of rows of a matrix product.
const MIN_ROWS_CPU: i64 = 16;
const MIN_ROWS_CUDA: i64 = 32;

/// Returns the number of padding rows for `rows` rows on `device`.
pub(crate) fn added_rows(rows: i64, device: Device) -> i64 {
    let least = if device == Device::Cpu { MIN_ROWS_CPU } else { MIN_ROWS_CUDA };
    (least - rows).max(0)
}

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

    /// Maps `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let rows = x.size().first().copied().unwrap_or(0);
        let (columns, _) = self.weight.size2()?;
        // A single column would be a product with a vector, whose rows do depend on their number.
        let twice = if columns == 1 { Some(self.weight.f_expand([2, -1], false)?) } else { None };
        let weight = twice.as_ref().unwrap_or(&self.weight);
        let product =
            |x: &Tensor| alone_if_narrow(columns, || x.f_linear(weight, self.bias.as_ref()))?.f_narrow(1, 0, columns);
        match added_rows(rows, x.device()) {
            0 => product(x),
            added => product(&x.f_constant_pad_nd([0, 0, 0, added])?)?.f_narrow(0, 0, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    #[test]
    fn rows_are_batch_invariant() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        tch::manual_seed(7);
        for (inner, outer) in [(64, 172), (172, 64), (128, 512), (96, 100), (64, 20), (32, 1)] {
            let linear = Linear::new(Tensor::randn([outer, inner], (Kind::Float, Device::Cpu)), None);
            let x = Tensor::randn([100, inner], (Kind::Float, Device::Cpu));
            let all = linear.forward(&x).unwrap();
            for rows in [1, 2, 3, 7, 15, 16, 17, 40, 99] {
                let some = linear.forward(&x.narrow(0, 0, rows)).unwrap();
                assert_eq!(some.size(), [rows, outer]);
                assert!(some.equal(&all.narrow(0, 0, rows)), "{rows} rows of {inner} -> {outer}");
            }
        }
    }
}
