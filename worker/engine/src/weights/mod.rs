//! Checkpoints: mapped, checked by name and shape, handed out as tensors without a copy where possible.

mod file;
mod pickle;
mod safetensors_file;
mod set;
mod stored;
mod torch_file;
mod zip;

pub(crate) use file::MappedFile;
pub(crate) use set::Weights;
