//! Models on libtorch: the only package with `tch`, and with the sandbox the only one with `unsafe`.
//!
//! [`load`] turns a [`ModelPlan`] into an [`Engine`]. Everything of one engine happens on the thread that loaded it:
//! libtorch's thread count and gradient mode belong to a thread, and tensors are not shared between threads.
//!
//! Invariants: a sample's numbers depend on the plan, the weights and the type of the device, never on the batch
//! composition (on CUDA proven only for matrix products so far, see `docs/measurements`); logits exist only at scored
//! positions; a sample that cannot be run is an outcome, not a fault.

mod bare;
mod blocks;
mod config;
mod cuda;
mod device;
mod executor;
mod fault;
pub mod gpu_check;
mod guarded;
mod invariance;
mod kernels;
mod known_faults;
mod kv;
mod load;
mod memory;
mod models;
mod placement;
mod reproducible;
pub mod tokenizer;
mod weights;

pub use bare::BareModel;
pub use cuda::{CudaError, CudaLibrary, CudaRuntime, load_cuda_library};
pub use device::{DeviceChoice, DeviceChoiceError, device_kind, taken_bytes};
pub use executor::{Trace, Traced};
pub use kernels::DeviceCounts;
pub use load::{load, load_colocated};
pub use reproducible::make_mkl_reproducible;

#[cfg(doc)]
use compass_plan::{ModelPlan, engine::Engine};
