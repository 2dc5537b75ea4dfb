//! Safetensors checkpoints: mapped, checked by name and shape, handed out as tensors without a copy where possible.

mod file;
mod set;

pub(crate) use file::MappedFile;
pub(crate) use set::Weights;
