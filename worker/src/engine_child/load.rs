//! From the plan's words about a model to an engine.

use crate::echo::EchoEngine;
use compass_common::engine::{Engine, EngineFault};
use compass_common::plan::{ModelKind, ModelPlan};

/// Whether this build can run real models.
pub(crate) const HAS_ENGINE: bool = cfg!(feature = "engine");

/// Whether the machine shows a GPU, as far as one can tell without a tensor library.
pub(crate) fn sees_gpu() -> bool {
    ["/dev/nvidiactl", "/dev/dxg"].iter().any(|path| std::path::Path::new(path).exists())
}

/// Loads the model of `plan` on `device` with so many threads, where so many engines share the device.
///
/// # Errors
/// [`EngineFault::Model`] when no worker could load it, [`EngineFault::Device`] when this one cannot now.
pub(super) fn load(plan: &ModelPlan, device: &str, threads: u32, sharers: u32) -> Result<Box<dyn Engine>, EngineFault> {
    match plan.kind {
        ModelKind::Echo => Ok(Box::new(EchoEngine::from_env(plan))),
        // The agent runs programs itself.
        ModelKind::Sandbox => Err(EngineFault::Model("an engine runs no programs".into())),
        ModelKind::Hf | ModelKind::Llama | ModelKind::InternLm => load_with_libtorch(plan, device, threads, sharers),
    }
}

#[cfg(feature = "engine")]
fn load_with_libtorch(
    plan: &ModelPlan,
    device: &str,
    threads: u32,
    sharers: u32,
) -> Result<Box<dyn Engine>, EngineFault> {
    use compass_engine::{CudaLibrary, DeviceChoice};
    let device: DeviceChoice = device.parse().map_err(|error| EngineFault::Device(format!("{error}")))?;
    if device != DeviceChoice::Cpu
        && let CudaLibrary::Failed(reason) = compass_engine::load_cuda_library()
    {
        if device != DeviceChoice::Auto {
            return Err(EngineFault::Device(format!("libtorch's CUDA half cannot be loaded: {reason}")));
        }
        if sees_gpu() {
            tracing::warn!(reason, "libtorch's CUDA half cannot be loaded; running on the CPU");
        } else {
            tracing::debug!(reason, "no GPU, and libtorch's CUDA half cannot be loaded");
        }
    }
    compass_engine::load_sharing(plan, &device, threads, sharers.max(1))
}

#[cfg(not(feature = "engine"))]
fn load_with_libtorch(plan: &ModelPlan, _: &str, _: u32, _: u32) -> Result<Box<dyn Engine>, EngineFault> {
    // Not the model's fault: a worker that was built with libtorch can run it.
    let build = "build compass-worker with its default features";
    Err(EngineFault::Device(format!("this worker was built without libtorch and cannot run {}; {build}", plan.abbr)))
}
