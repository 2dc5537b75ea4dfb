//! Weights that are made where they are needed: a model's time and memory without its files.

use crate::fault::device_fault;
use compass_plan::engine::EngineFault;
use tch::{Device, Kind, TchError, Tensor};

/// Standard deviation of matrices, as models are initialised.
const DEVIATION: f64 = 0.02;

/// Returns a tensor of this name and shape, drawn by libtorch's generator: norms are 1, biases 0.
pub(super) fn random_tensor(name: &str, shape: &[i64], options: (Kind, Device)) -> Result<Tensor, EngineFault> {
    let made: Result<Tensor, TchError> = match shape {
        [_] if name.ends_with("bias") => Tensor::f_zeros(shape, options),
        [_] => Tensor::f_ones(shape, options),
        _ => Tensor::f_empty(shape, options).and_then(|mut tensor| tensor.f_normal_(0.0, DEVIATION)),
    };
    made.map_err(|error| device_fault(&error))
}
