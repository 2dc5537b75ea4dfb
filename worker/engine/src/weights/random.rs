//! Weights that are made where they are needed: a model's time and memory without its files.

use crate::fault::device_fault;
use compass_plan::engine::EngineFault;
use tch::{Device, Kind, TchError, Tensor};

/// Standard deviation of matrices, as models are initialised.
const DEVIATION: f64 = 0.02;

/// Tensors of fewer numbers are made on the CPU in f32, so that a small model is the same on every device and in every
/// number format but for rounding. Their deviation is chosen so that a layer adds numbers of the size of its input.
const SMALL: i64 = 1 << 20;

/// Returns a tensor of this name and shape, drawn by libtorch's generator: norms are 1, biases 0.
pub(super) fn random_tensor(name: &str, shape: &[i64], (kind, device): (Kind, Device)) -> Result<Tensor, EngineFault> {
    let drawn = |options, deviation| Tensor::f_empty(shape, options)?.f_normal_(0.0, deviation);
    let made: Result<Tensor, TchError> = match shape {
        [_] if name.ends_with("bias") => Tensor::f_zeros(shape, (kind, device)),
        [_] => Tensor::f_ones(shape, (kind, device)),
        _ if shape.iter().product::<i64>() < SMALL => {
            let inputs = shape.last().copied().unwrap_or(1).max(1) as f64;
            let tensor = drawn((Kind::Float, Device::Cpu), DEVIATION.max(inputs.powf(-0.5)));
            tensor.and_then(|tensor| tensor.f_to_kind(kind)?.f_to_device(device))
        }
        _ => drawn((kind, device), DEVIATION),
    };
    made.map_err(|error| device_fault(&error))
}
