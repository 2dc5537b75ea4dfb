//! Where a model runs, and how the CUDA half of libtorch gets into a binary that links only the CPU half.

use crate::memory::free_bytes;
use compass_common::engine::EngineFault;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
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

/// Free and total bytes of a GPU, asked of the CUDA run-time library that libtorch brought along; `None` without one.
pub(crate) fn cuda_memory(ordinal: usize) -> Option<(usize, usize)> {
    type SetDevice = unsafe extern "C" fn(libc::c_int) -> libc::c_int;
    type MemGetInfo = unsafe extern "C" fn(*mut usize, *mut usize) -> libc::c_int;
    let set = symbol(c"cudaSetDevice")?;
    let get = symbol(c"cudaMemGetInfo")?;
    // SAFETY: these are the two functions' types in every version of the CUDA run-time API, whose symbols bear no other.
    let (set, get) = unsafe {
        (
            std::mem::transmute::<*mut libc::c_void, SetDevice>(set),
            std::mem::transmute::<*mut libc::c_void, MemGetInfo>(get),
        )
    };
    let (mut free, mut total) = (0, 0);
    // SAFETY: both only read the number and write the two integers, which live through the call. libtorch sets its own
    // device before each of its operations.
    let code = unsafe { set(libc::c_int::try_from(ordinal).ok()?) | get(&raw mut free, &raw mut total) };
    (code == 0).then_some((free, total))
}

/// A function of a library that is loaded.
fn symbol(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: `name` is NUL-terminated and lives through the call, which only looks names up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// `"cpu"` or `"cuda"`: within one kind, results are byte-identical; across kinds they agree to a tolerance.
///
/// # Errors
/// [`EngineFault::Device`] when a CUDA device is asked for that this process cannot see.
pub fn device_kind(choice: &DeviceChoice) -> Result<&'static str, EngineFault> {
    Ok(if resolve(*choice)? == Device::Cpu { "cpu" } else { "cuda" })
}

/// What became of the CUDA half of libtorch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaLibrary {
    /// Loaded from this file.
    Loaded(PathBuf),
    /// No such file beside libtorch or in `LD_LIBRARY_PATH`: a machine without CUDA.
    Absent,
    /// There is one, but the dynamic linker refused it for this reason; the CPU remains.
    Failed(String),
}

const CUDA_LIBRARY: &str = "libtorch_cuda.so";

/// Loads libtorch_cuda.so when there is one. To be called once, before the first tensor is made: libtorch looks for
/// its CUDA hooks when it first needs them.
pub fn load_cuda_library() -> CudaLibrary {
    let Some(path) = candidates().into_iter().find(|path| path.is_file()) else {
        return CudaLibrary::Absent;
    };
    match open_globally(&path) {
        Ok(()) => CudaLibrary::Loaded(path),
        Err(reason) => CudaLibrary::Failed(reason),
    }
}

/// Files by that name in the order of preference: beside the libtorch that is running, then the linker's own path.
fn candidates() -> Vec<PathBuf> {
    let beside = std::fs::read_to_string("/proc/self/maps").ok().and_then(|maps| directory_of_libtorch(&maps));
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = std::env::split_paths(&path).filter(|entry| entry != Path::new("")).collect::<Vec<_>>();
    beside.into_iter().chain(listed).map(|directory| directory.join(CUDA_LIBRARY)).collect()
}

/// The folder of libtorch_cpu.so according to a `/proc/<pid>/maps` listing.
fn directory_of_libtorch(maps: &str) -> Option<PathBuf> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])))
        .find(|path| path.file_name() == Some(OsStr::new("libtorch_cpu.so")))
        .and_then(|path| path.parent().map(Path::to_path_buf))
}

fn open_globally(path: &Path) -> Result<(), String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: `name` is a NUL-terminated string that lives through the call. Loading runs the library's initialisers;
    // it is libtorch's own other half, which registers kernels and touches nothing of ours.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if !handle.is_null() {
        return Ok(());
    }
    // SAFETY: no other call of the dl family lies between the failed dlopen and this one on this thread.
    let reason = unsafe { libc::dlerror() };
    if reason.is_null() {
        return Err(format!("{} could not be loaded, and the linker gave no reason", path.display()));
    }
    // SAFETY: dlerror returned a non-null, NUL-terminated string that stays valid until the next call of its family.
    Err(unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned())
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

    #[test]
    fn finds_libtorch_in_a_listing_of_maps() {
        let maps =
            "7f00-7f01 r-xp 0 08:01 5 /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 08:01 6 /opt/a b/lib/libtorch_cpu.so\n";
        assert_eq!(directory_of_libtorch(maps), Some(PathBuf::from("/opt/a b/lib")));
        assert_eq!(directory_of_libtorch("7f00-7f01 rw-p 0 00:00 0\n"), None);
    }

    #[test]
    fn a_library_that_is_not_one_is_refused_with_a_reason() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(open_globally(file.path()).unwrap_err().contains("too short"));
    }
}
