//! Checkpoints: mapped, checked by name and shape, loaded as tensors without a copy where possible.

mod adapter;
mod file;
mod files;
mod finite;
mod fp8;
mod fused_experts;
mod merge;
mod pickle;
mod pickle_json;
mod pickled;
mod random;
mod safetensors_file;
mod set;
mod stored;
mod torch_file;
mod unchanged;
mod zip;

pub(crate) use file::MappedFile;
pub(crate) use pickle_json::read_pickled_json;
pub(crate) use set::Weights;
pub(crate) use unchanged::UnchangedFile;
