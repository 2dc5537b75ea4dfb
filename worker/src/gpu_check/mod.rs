//! `compass-worker gpu-check`: what the device of this machine and the engine do, section by section. Each has its own
//! process: a fault of CUDA leaves a process unusable, and ends no other section.

mod arguments;
#[cfg(feature = "engine")]
mod child;
#[cfg(feature = "engine")]
mod report;
#[cfg(feature = "engine")]
mod run;
#[cfg(feature = "engine")]
mod section_process;

pub(crate) use arguments::GpuCheckArgs;
pub use arguments::GpuCheckOptions;
#[cfg(feature = "engine")]
pub use run::run;

/// Says that this build has no libtorch.
#[cfg(not(feature = "engine"))]
pub fn run(_: GpuCheckOptions) -> std::process::ExitCode {
    use std::io::Write as _;
    let text = "compass-worker: this worker was built without libtorch; build it with its default features";
    let _ = writeln!(std::io::stderr(), "{text}");
    std::process::ExitCode::from(2)
}
