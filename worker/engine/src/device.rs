//! Where a model runs: the device that a worker was told to use, resolved to what this process sees.

use crate::cuda::{cuda_memory, cuda_name};
use crate::memory::free_bytes;
use compass_plan::engine::EngineFault;
use std::str::FromStr;
use tch::{Cuda, Device};

/// The device that a worker was told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device when there is one, else the CPU.
    Auto,
    Cpu,
    /// A CUDA device by ordinal.
    Cuda(u32),
}

/// A device name that means nothing.
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

/// The device on which tensors of this choice live.
///
/// # Errors
/// [`EngineFault::Device`] when a CUDA device is asked for that this process cannot see.
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
            Err(EngineFault::Device(format!("device cuda:{ordinal} is not there: {seen}")))
        }
    }
}

/// The devices of a replica that asks for `gpus` of them: as many as that from the one chosen on, or the CPU alone.
///
/// # Errors
/// [`EngineFault::Device`] when this process does not see so many.
pub(crate) fn resolve_all(choice: DeviceChoice, gpus: u32) -> Result<Vec<Device>, EngineFault> {
    let first = match resolve(choice)? {
        Device::Cuda(first) if gpus > 1 => first,
        one => return Ok(vec![one]),
    };
    let seen = usize::try_from(Cuda::device_count()).unwrap_or(0);
    if first + gpus as usize > seen {
        return Err(EngineFault::Device(format!(
            "the model asks for run_cfg.num_gpus = {gpus}, and this worker sees {seen} CUDA devices (CUDA_VISIBLE_DEVICES \
             bounds them)"
        )));
    }
    Ok((first..first + gpus as usize).map(Device::Cuda).collect())
}

/// Bytes that are free on a device.
pub(crate) fn free_on(device: Device) -> usize {
    match device {
        Device::Cuda(ordinal) => cuda_memory(ordinal).map_or(UNKNOWN_CUDA_BYTES, |(free, _)| free),
        _ => free_bytes(),
    }
}

/// What is assumed where a GPU does not say.
const UNKNOWN_CUDA_BYTES: usize = 4 << 30;

/// `cpu`, or a GPU's name as its driver has it, such as `NVIDIA H100 80GB HBM3`.
pub(crate) fn device_name(device: Device) -> String {
    match device {
        Device::Cuda(ordinal) => cuda_name(ordinal).unwrap_or_else(|| "cuda".into()),
        _ => "cpu".into(),
    }
}

/// `"cpu"` or `"cuda"`: within one kind, results are byte-identical; across kinds they agree to a tolerance.
///
/// # Errors
/// [`EngineFault::Device`] when a CUDA device is asked for that this process cannot see.
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
    fn kind_of_the_cpu_and_of_a_device_that_is_not_there() {
        assert_eq!(device_kind(&DeviceChoice::Cpu).unwrap(), "cpu");
        let fault = device_kind(&DeviceChoice::Cuda(999)).unwrap_err();
        assert!(matches!(fault, EngineFault::Device(_)));
        assert!(fault.to_string().contains("cuda:999"), "{fault}");
    }

    #[test]
    fn a_replica_of_several_gpus_needs_as_many() {
        assert_eq!(resolve_all(DeviceChoice::Cpu, 4).unwrap(), [Device::Cpu], "the CPU is one, whatever is asked for");
        assert!(resolve_all(DeviceChoice::Cuda(999), 2).is_err());
        if !Cuda::is_available() {
            assert_eq!(resolve_all(DeviceChoice::Auto, 2).unwrap(), [Device::Cpu]);
            assert_eq!(cuda_memory(0), None);
        }
        assert!(free_on(Device::Cpu) > 0);
    }
}
