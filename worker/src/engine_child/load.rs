//! Creates the engine for a model of the plan.

use crate::echo::EchoEngine;
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{ModelKind, ModelPlan};

/// Whether this build can run real models.
pub(crate) const HAS_ENGINE: bool = cfg!(feature = "engine");

/// Whether the driver shows this process a GPU that it may open; a guess without a tensor library.
pub(crate) fn sees_gpu() -> bool {
    let numbered = (0..64).map(|number| format!("/dev/nvidia{number}"));
    // A device file that a control group denies is another job's GPU.
    numbered.chain(["/dev/dxg".to_owned()]).any(|path| std::fs::File::open(path).is_ok())
}

/// Loads the model of `plan` on `device` with `threads` threads, where `colocated_engines` share the device.
///
/// # Errors
/// [`EngineFault::Missing`] if this host lacks files of the model, [`EngineFault::Model`] if no worker with these files
/// could load it, [`EngineFault::Device`] if this worker cannot now.
pub(super) fn load(
    plan: &ModelPlan,
    device: &str,
    threads: u32,
    colocated_engines: u32,
) -> Result<Box<dyn Engine>, EngineFault> {
    match plan.kind {
        ModelKind::Echo => match EchoEngine::missing() {
            Some(path) => Err(EngineFault::Missing(format!("{path} is missing"))),
            None => Ok(Box::new(EchoEngine::from_env(plan))),
        },
        // The agent runs programs itself.
        ModelKind::Sandbox => Err(EngineFault::Model("an engine cannot run programs".into())),
        ModelKind::Hf | ModelKind::Llama | ModelKind::InternLm => {
            load_with_libtorch(plan, device, threads, colocated_engines)
        }
    }
}

#[cfg(feature = "engine")]
fn load_with_libtorch(
    plan: &ModelPlan,
    device: &str,
    threads: u32,
    colocated_engines: u32,
) -> Result<Box<dyn Engine>, EngineFault> {
    use super::device::{Seen, choose};
    use compass_engine::{CudaLibrary, CudaRuntime, DeviceChoice};
    let choice: DeviceChoice = device.parse().map_err(|error| EngineFault::Device(format!("{error}")))?;
    let library = if choice == DeviceChoice::Cpu { CudaLibrary::Absent } else { compass_engine::load_cuda_library() };
    let seen = Seen {
        gpu: sees_gpu(),
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        runtime: CudaRuntime::look(&library),
        library,
    };
    let device = choose(plan, choice, &seen)?;
    compass_engine::load_colocated(plan, &device, threads, colocated_engines.max(1))
}

#[cfg(not(feature = "engine"))]
fn load_with_libtorch(plan: &ModelPlan, _: &str, _: u32, _: u32) -> Result<Box<dyn Engine>, EngineFault> {
    // Not the model's fault: a worker with libtorch can run it.
    let build = "build compass-worker with its default features";
    Err(EngineFault::Device(format!("this worker was built without libtorch and cannot run {}; {build}", plan.abbr)))
}
