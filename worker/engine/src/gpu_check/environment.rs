//! Environment of the computation: the device, the driver, the libraries, and the engine's variables.

use super::finding::Finding;
use super::setup::CheckSetup;
use crate::cuda::{CudaLibrary, cuda_memory};
use crate::device::{DeviceChoice, device_name};
use crate::memory::free_bytes;
use tch::Device;

const SECTION: &str = "environment";

/// Variables that CUDA's libraries read.
const VARIABLES: [&str; 7] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "TORCH_CUDNN_SDPA_DEPRIORITIZED",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "PYTORCH_ALLOC_CONF",
];

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) {
    let device = match setup.device {
        DeviceChoice::Cuda(ordinal) => Device::Cuda(ordinal as usize),
        DeviceChoice::Auto | DeviceChoice::Cpu => Device::Cpu,
    };
    // The device was chosen by the rules of every engine, which refuse a GPU that does not work.
    let named = Finding::measured(SECTION, "device", device_name(device), "");
    report(named.judged("the device asked for, never the CPU in its place", Some(true)));
    if let CudaLibrary::Loaded(path) = &setup.library {
        report(Finding::measured(SECTION, "libtorch_cuda", path.display().to_string(), ""));
        report(Finding::measured(SECTION, "GPUs", setup.runtime.devices as u64, ""));
    }
    for (name, version) in
        [("CUDA of the driver", setup.runtime.driver), ("CUDA of this libtorch", setup.runtime.needs)]
    {
        if let Some(version) = version {
            report(Finding::measured(SECTION, name, format!("{}.{}", version / 1000, version % 1000 / 10), ""));
        }
    }
    if let Ok(driver) = std::fs::read_to_string("/proc/driver/nvidia/version") {
        report(Finding::measured(SECTION, "driver", driver.lines().next().unwrap_or_default().trim(), ""));
    }
    let (free, total) = match device {
        Device::Cuda(ordinal) => cuda_memory(ordinal).unwrap_or_default(),
        _ => (free_bytes(), 0),
    };
    report(Finding::measured(SECTION, "free memory", (free >> 20) as u64, "MiB"));
    if total > 0 {
        report(Finding::measured(SECTION, "memory", (total >> 20) as u64, "MiB"));
    }
    report(Finding::measured(SECTION, "threads", setup.threads, ""));
    report(Finding::measured(SECTION, "dtype", format!("{:?}", setup.plan.dtype).to_lowercase(), ""));
    report(Finding::measured(SECTION, "model", setup.plan.abbr.clone(), ""));
    for name in VARIABLES {
        if let Ok(value) = std::env::var(name) {
            report(Finding::measured(SECTION, name, value, ""));
        }
    }
}
