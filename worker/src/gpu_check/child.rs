//! One section, in its own process: rows go to stdout as JSON lines.

use super::arguments::GpuCheckOptions;
use crate::engine_child::{ChosenDevice, choose_device};
use crate::parent::end_with_parent;
use compass_common::regular_file;
use compass_engine::gpu_check::{CheckSetup, CheckStatus, Finding, Section, run_section};
use compass_plan::engine::EngineFault;
use compass_plan::{DeviceRequest, Dtype, ModelKind, ModelPlan};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The device cannot be used: no other section need be tried.
pub(super) const NO_DEVICE: u8 = 3;

/// Help for the user: the way to let the check compute on the CPU.
const ON_CPU: &str = "use --cpu to compute on the CPU";

/// Runs `section` on the model in `folder`.
pub(super) fn run(options: &GpuCheckOptions, section: &str, folder: &Path) -> ExitCode {
    end_with_parent();
    let mut print = |finding: Finding| {
        if let Ok(line) = serde_json::to_string(&finding) {
            let _ = writeln!(io::stdout(), "{line}");
        }
    };
    let known: Section = match section.parse() {
        Ok(known) => known,
        Err(error) => {
            print(Finding::ended(section, CheckStatus::Failed, error));
            return ExitCode::from(2);
        }
    };
    let setup = match setup(options, folder) {
        Ok(setup) => setup,
        Err(fault) => {
            print(Finding::ended(section, CheckStatus::Failed, fault.to_string()));
            return ExitCode::from(NO_DEVICE);
        }
    };
    match run_section(known, &setup, &mut print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            print(Finding::ended(section, CheckStatus::Failed, fault.to_string()));
            ExitCode::FAILURE
        }
    }
}

fn setup(options: &GpuCheckOptions, folder: &Path) -> Result<CheckSetup, EngineFault> {
    let name = options.random.clone().unwrap_or_else(|| folder.display().to_string());
    let mut plan = ModelPlan::new(name, ModelKind::Hf, folder.display().to_string());
    plan.device = if options.cpu { DeviceRequest::Cpu } else { DeviceRequest::Cuda };
    plan.deterministic = !options.fast;
    plan.dtype = if options.cpu { Dtype::Float32 } else { own_dtype(folder) };
    let device = if options.cpu { "cpu" } else { "auto" };
    let ChosenDevice { device, library, runtime, .. } = choose_device(&plan, device, ON_CPU)?;
    let (random, threads) = (options.random.clone(), options.threads);
    Ok(CheckSetup { plan, random, device, threads, library, runtime })
}

/// The checkpoint's own number format.
fn own_dtype(folder: &Path) -> Dtype {
    let config = regular_file::read(&folder.join("config.json"), regular_file::SMALL).unwrap_or_default();
    let config: Value = serde_json::from_slice(&config).unwrap_or_default();
    match config.get("torch_dtype").or_else(|| config.get("dtype")).and_then(Value::as_str) {
        Some("bfloat16") => Dtype::Bfloat16,
        Some("float16") => Dtype::Float16,
        _ => Dtype::Float32,
    }
}
