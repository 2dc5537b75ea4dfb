//! Creates the engine for a model of the plan.

#[cfg(feature = "engine")]
use super::device::{Seen, choose};
use crate::echo::EchoEngine;
#[cfg(feature = "engine")]
use compass_common::gpu_files::GpuFiles;
#[cfg(feature = "engine")]
use compass_engine::{CudaLibrary, CudaRuntime, DeviceChoice};
#[cfg(feature = "engine")]
use compass_plan::DeviceRequest;
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{ModelKind, ModelPlan};

/// Set if this build can run real models.
pub(crate) const HAS_ENGINE: bool = cfg!(feature = "engine");

/// An engine, and the bytes of memory that its device has taken once it is loaded, 0 if it has no memory of its own.
pub type LoadedEngine = (Box<dyn Engine>, u64);

/// Loads the requested model.
pub type Loading<'a> = &'a dyn Fn() -> Result<LoadedEngine, EngineFault>;

/// Wrapper between an engine child and the engines that it loads; [`as_loaded`] changes nothing.
pub type Decorate = fn(&ModelPlan, Loading<'_>) -> Result<LoadedEngine, EngineFault>;

/// Loads the model and leaves its engine as it is.
///
/// # Errors
/// Errors of loading.
pub fn as_loaded(_: &ModelPlan, loading: Loading<'_>) -> Result<LoadedEngine, EngineFault> {
    loading()
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
) -> Result<LoadedEngine, EngineFault> {
    match plan.kind {
        ModelKind::Echo => Ok((Box::new(EchoEngine::new(plan)), 0)),
        ModelKind::Endpoint => Ok((compass_endpoint::load(plan, &|_| {})?, 0)),
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
) -> Result<(Box<dyn Engine>, u64), EngineFault> {
    let chosen = choose_device(plan, device, ON_CPU)?;
    let notes = chosen.note.into_iter().collect();
    let engine = compass_engine::load_colocated(plan, &chosen.device, threads, colocated_engines.max(1), notes)?;
    Ok((engine, compass_engine::taken_bytes(chosen.device, plan.num_gpus) as u64))
}

/// The device of an engine, and the findings on the way to it.
#[cfg(feature = "engine")]
#[derive(Clone, Debug)]
pub(crate) struct ChosenDevice {
    pub(crate) device: DeviceChoice,
    pub(crate) library: CudaLibrary,
    pub(crate) runtime: CudaRuntime,
    /// Reason why the CPU computes although there are GPUs, for the user.
    pub(crate) note: Option<String>,
}

/// Help for the user: the way to compute on the CPU.
#[cfg(feature = "engine")]
const ON_CPU: &str = "start the worker with --device cpu, or write `device = \"cpu\"`, to compute on the CPU";

/// Loads the CUDA half of libtorch where it may be needed, and chooses the device for `plan`, of `device`, `auto`, `cpu` or
/// `cuda:N`. Errors end with `on_cpu`, the help for doing without a GPU. Must be called once, before the first tensor is
/// made.
///
/// # Errors
/// [`EngineFault::Device`] if a GPU is requested or exists, and cannot be used.
#[cfg(feature = "engine")]
pub(crate) fn choose_device(plan: &ModelPlan, device: &str, on_cpu: &'static str) -> Result<ChosenDevice, EngineFault> {
    let choice: DeviceChoice = device.parse().map_err(|error| EngineFault::Device(format!("{error}")))?;
    let library = if choice == DeviceChoice::Cpu { CudaLibrary::Absent } else { compass_engine::load_cuda_library() };
    let seen = Seen {
        files: GpuFiles::here(),
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        runtime: CudaRuntime::look(&library),
        library,
        on_cpu,
    };
    let device = choose(plan, choice, &seen)?;
    let is_wanted = choice == DeviceChoice::Cpu || plan.device == DeviceRequest::Cpu || seen.is_hidden();
    let note = seen
        .files
        .no_driver()
        .filter(|_| device == DeviceChoice::Cpu && !is_wanted)
        .map(|text| format!("the CPU computes: {text}"));
    if let Some(note) = &note {
        tracing::warn!("{note}");
    }
    Ok(ChosenDevice { device, library: seen.library, runtime: seen.runtime, note })
}

#[cfg(not(feature = "engine"))]
fn load_with_libtorch(plan: &ModelPlan, _: &str, _: u32, _: u32) -> Result<(Box<dyn Engine>, u64), EngineFault> {
    // Not the model's fault: a worker with libtorch can run it.
    let build = "build compass-worker with its default features";
    Err(EngineFault::Device(format!("this worker was built without libtorch and cannot run {}; {build}", plan.abbr)))
}
