//! `worker-with-faults`: `compass-worker` as it is shipped, whose engines fail, wait and keep count where the environment
//! asks for it. Tests start it wherever a master would start a worker.

#![warn(clippy::disallowed_methods)]

mod faults;
mod gate;

use compass_plan::ModelPlan;
use compass_plan::engine::EngineFault;
use compass_worker::engine_child::{LoadedEngine, Loading};
use faults::{Faults, FaultyEngine};
use std::process::ExitCode;

/// Loads a model, unless a fault forbids it, and puts the faults that show while it computes around its engine.
fn with_faults(_: &ModelPlan, loading: Loading<'_>) -> Result<LoadedEngine, EngineFault> {
    let Some(faults) = Faults::from_environment() else { return loading() };
    faults.before_loading()?;
    let (engine, memory_bytes) = loading()?;
    Ok((Box::new(FaultyEngine { inner: engine, faults }), memory_bytes))
}

fn main() -> ExitCode {
    compass_worker::program::run(with_faults)
}
