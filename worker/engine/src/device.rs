//! Resolves the device that a worker was given to one that this process can use.

use crate::cuda::{cuda_memory, cuda_name};
use crate::memory::{free_bytes, resident_bytes};
use compass_plan::engine::EngineFault;
use std::str::FromStr;
use tch::{Cuda, Device};

/// The device that a worker was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device if there is one, otherwise the CPU.
    Auto,
    Cpu,
    /// A CUDA device by ordinal.
    Cuda(u32),
}

/// An unknown device name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device `{0}`: write `auto`, `cpu` or `cuda:N` with the GPU's number, such as `cuda:0`")]
pub struct DeviceChoiceError(String);

impl FromStr for DeviceChoice {
    type Err = DeviceChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|ordinal| ordinal.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| DeviceChoiceError(text.to_owned())),
        }
    }
}

/// Returns the device of the tensors.
///
/// # Errors
/// [`EngineFault::Device`] if a requested CUDA device is not visible to this process.
pub(crate) fn resolve(choice: DeviceChoice) -> Result<Device, EngineFault> {
    match choice {
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Auto if Cuda::is_available() => Ok(Device::Cuda(0)),
        DeviceChoice::Auto => Ok(Device::Cpu),
        DeviceChoice::Cuda(ordinal) => {
            let count = if Cuda::is_available() { Cuda::device_count() } else { 0 };
            if i64::from(ordinal) < count {
                return Ok(Device::Cuda(ordinal as usize));
            }
            let seen = if count == 0 {
                "this process sees no CUDA device (is libtorch_cuda.so beside libtorch_cpu.so or in LD_LIBRARY_PATH?)"
                    .to_owned()
            } else {
                format!("the devices seen are cuda:0 to cuda:{}", count - 1)
            };
            Err(EngineFault::Device(format!("device cuda:{ordinal} is missing: {seen}")))
        }
    }
}

/// Returns the devices of a replica with `gpus` GPUs: as many as that, starting with the chosen one, or the CPU.
///
/// # Errors
/// [`EngineFault::Device`] if this process does not see enough.
pub(crate) fn resolve_all(choice: DeviceChoice, gpus: u32) -> Result<Vec<Device>, EngineFault> {
    let first = match resolve(choice)? {
        Device::Cuda(first) if gpus > 1 => first,
        one => return Ok(vec![one]),
    };
    let seen = usize::try_from(Cuda::device_count()).unwrap_or(0);
    if first + gpus as usize > seen {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
        return Err(EngineFault::Device(too_few(gpus, (first, seen), &visible)));
    }
    Ok((first..first + gpus as usize).map(Device::Cuda).collect())
}

/// Says that a replica lacks GPUs; `visible` is CUDA_VISIBLE_DEVICES.
fn too_few(gpus: u32, (first, seen): (usize, usize), visible: &str) -> String {
    let help = if visible.contains("MIG-") {
        "a process sees only one MIG slice: write `num_gpus = 1`, and `--slots` for as many engines as there are slices"
    } else {
        "lower num_gpus, or start the worker with more GPUs (CUDA_VISIBLE_DEVICES bounds them)"
    };
    let from = if first > 0 { format!(", of which it is told to begin with cuda:{first}") } else { String::new() };
    format!(
        "the model asks for run_cfg.num_gpus = {gpus}, and this worker sees {seen} CUDA devices{from}; help: {help}"
    )
}

/// Free bytes on a device.
pub(crate) fn free_on(device: Device) -> usize {
    match device {
        Device::Cuda(ordinal) => cuda_memory(ordinal).map_or(UNKNOWN_CUDA_BYTES, |(free, _)| free),
        _ => free_bytes(),
    }
}

/// Bytes of a device's memory.
pub(crate) fn total_on(device: Device) -> usize {
    match device {
        Device::Cuda(ordinal) => cuda_memory(ordinal).map_or(UNKNOWN_CUDA_BYTES, |(_, total)| total),
        _ => free_bytes(),
    }
}

/// Bytes taken on the GPUs of a replica by all their processes, or the memory of this process on the CPU; 0 where neither says.
pub fn taken_bytes(choice: DeviceChoice, gpus: u32) -> usize {
    match resolve_all(choice, gpus).unwrap_or_default().as_slice() {
        [] => 0,
        [Device::Cpu] => resident_bytes(),
        devices => {
            let ordinals = devices.iter().filter_map(|device| match device {
                Device::Cuda(ordinal) => Some(*ordinal),
                _ => None,
            });
            ordinals.filter_map(cuda_memory).map(|(free, total)| total - free).sum()
        }
    }
}

/// Assumed free memory of a GPU that does not report it.
const UNKNOWN_CUDA_BYTES: usize = 4 << 30;

/// Returns `cpu`, or a GPU's name from its driver, for example `NVIDIA H100 80GB HBM3`.
pub(crate) fn device_name(device: Device) -> String {
    match device {
        Device::Cuda(ordinal) => cuda_name(ordinal).unwrap_or_else(|| "cuda".into()),
        _ => "cpu".into(),
    }
}

/// Returns `"cpu"` or `"cuda"`: within one kind, results are byte-identical; across kinds they agree to a tolerance.
///
/// # Errors
/// [`EngineFault::Device`] if a requested CUDA device is not visible to this process.
pub fn device_kind(choice: &DeviceChoice) -> Result<&'static str, EngineFault> {
    Ok(if resolve(*choice)? == Device::Cpu { "cpu" } else { "cuda" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("cpu".parse(), Ok(DeviceChoice::Cpu));
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::Cuda(3)));
        for wrong in ["", "gpu", "cuda", "cuda:", "cuda:-1", "CPU", "cuda:x"] {
            let error = wrong.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(error.contains("`auto`, `cpu` or `cuda:N`"), "{error}");
        }
    }

    #[test]
    fn kind_of_the_cpu_and_of_a_missing_device() {
        assert_eq!(device_kind(&DeviceChoice::Cpu).unwrap(), "cpu");
        let fault = device_kind(&DeviceChoice::Cuda(999)).unwrap_err();
        assert!(matches!(fault, EngineFault::Device(_)));
        assert!(fault.to_string().contains("cuda:999"), "{fault}");
    }

    #[test]
    fn too_few_gpus_are_told_with_the_remedy() {
        let plain = too_few(4, (0, 2), "0,1");
        assert!(
            plain.contains("num_gpus = 4") && plain.contains("sees 2") && plain.contains("lower num_gpus"),
            "{plain}"
        );
        let slices =
            too_few(2, (0, 1), "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f,MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb");
        assert!(slices.contains("only one MIG slice") && slices.contains("--slots"), "{slices}");
    }

    #[test]
    fn replica_needs_all_its_gpus() {
        assert_eq!(resolve_all(DeviceChoice::Cpu, 4).unwrap(), [Device::Cpu], "there is one CPU");
        assert!(resolve_all(DeviceChoice::Cuda(999), 2).is_err());
        if !Cuda::is_available() {
            assert_eq!(resolve_all(DeviceChoice::Auto, 2).unwrap(), [Device::Cpu]);
            assert_eq!(cuda_memory(0), None);
        }
        assert!(free_on(Device::Cpu) > 0);
    }
}
