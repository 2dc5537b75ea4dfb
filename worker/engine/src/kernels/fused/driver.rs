//! CUDA's driver: a module of kernels on one device, and launches on libtorch's stream.
//!
//! The driver's library is the one that the CUDA run-time library has loaded. libtorch computes on the default stream
//! unless another is set, which nothing here does.

use crate::cuda::{symbol, torch_error, words};
use std::ffi::CStr;
use tch::TchError;

type Handle = *mut libc::c_void;
type SetDevice = unsafe extern "C" fn(libc::c_int) -> libc::c_int;
type LoadData = unsafe extern "C" fn(*mut Handle, *const libc::c_void) -> libc::c_int;
type GetFunction = unsafe extern "C" fn(*mut Handle, Handle, *const libc::c_char) -> libc::c_int;
type Launch = unsafe extern "C" fn(
    Handle,
    libc::c_uint,
    libc::c_uint,
    libc::c_uint,
    libc::c_uint,
    libc::c_uint,
    libc::c_uint,
    libc::c_uint,
    Handle,
    *mut Handle,
    *mut Handle,
) -> libc::c_int;

/// Most parts of attention that a launch merges.
pub(super) const MOST_PARTS: usize = 8;

/// `Parts` of fused.cu.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct PartsArgument {
    pub(super) out: [Handle; MOST_PARTS],
    pub(super) log_sum: [Handle; MOST_PARTS],
    pub(super) row_stride: [i64; MOST_PARTS],
    pub(super) head_stride: [i64; MOST_PARTS],
}

/// An argument of a kernel.
pub(super) enum Argument {
    Pointer(Handle),
    Long(i64),
    Int(i32),
    Float(f32),
    Double(f64),
    Parts(Box<PartsArgument>),
}

impl Argument {
    fn address(&mut self) -> Handle {
        match self {
            Self::Pointer(value) => (&raw mut *value).cast(),
            Self::Long(value) => (&raw mut *value).cast(),
            Self::Int(value) => (&raw mut *value).cast(),
            Self::Float(value) => (&raw mut *value).cast(),
            Self::Double(value) => (&raw mut *value).cast(),
            Self::Parts(value) => (&raw mut **value).cast(),
        }
    }
}

/// Kernels of one image on one device.
pub(super) struct Module<const KERNELS: usize> {
    device: libc::c_int,
    set_device: SetDevice,
    launch: Launch,
    kernels: [Handle; KERNELS],
}

impl<const KERNELS: usize> Module<KERNELS> {
    /// Loads PTX, which the driver compiles for the device, and finds kernels by their names.
    ///
    /// # Errors
    /// The reason, for the user: something that the driver lacks or refuses.
    pub(super) fn load(device: usize, ptx: &CStr, names: [&CStr; KERNELS]) -> Result<Self, String> {
        let device = libc::c_int::try_from(device).map_err(|error| error.to_string())?;
        let set_device = symbol(c"cudaSetDevice").ok_or("CUDA's run-time library is not loaded")?;
        // SAFETY: the name is a NUL-terminated literal; the library is loaded already.
        let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if driver.is_null() {
            return Err("CUDA's driver is not loaded".into());
        }
        let find = |name: &CStr| {
            // SAFETY: `driver` is a handle that dlopen returned, and the name is NUL-terminated.
            let found = unsafe { libc::dlsym(driver, name.as_ptr()) };
            if found.is_null() { Err(format!("CUDA's driver has no {}", name.to_string_lossy())) } else { Ok(found) }
        };
        let (load, get, launch) = (find(c"cuModuleLoadData")?, find(c"cuModuleGetFunction")?, find(c"cuLaunchKernel")?);
        // SAFETY: these are the functions' types in every version of the CUDA driver and run-time APIs; handles are
        // pointers there, and results are enumerations.
        let (set_device, load, get, launch) = unsafe {
            (
                std::mem::transmute::<Handle, SetDevice>(set_device),
                std::mem::transmute::<Handle, LoadData>(load),
                std::mem::transmute::<Handle, GetFunction>(get),
                std::mem::transmute::<Handle, Launch>(launch),
            )
        };
        let checked = |what: &str, code| if code == 0 { Ok(()) } else { Err(format!("{what}: {}", words(code))) };
        // SAFETY: the function only reads the number.
        checked("cudaSetDevice", unsafe { set_device(device) })?;
        let mut module: Handle = std::ptr::null_mut();
        // SAFETY: the image is NUL-terminated text; the handle lives through the call. The device's context is current.
        checked("cuModuleLoadData", unsafe { load(&raw mut module, ptx.as_ptr().cast()) })?;
        let mut kernels: [Handle; KERNELS] = [std::ptr::null_mut(); KERNELS];
        for (kernel, name) in kernels.iter_mut().zip(names) {
            // SAFETY: the module was loaded, the name is NUL-terminated, and the handle lives through the call.
            checked("cuModuleGetFunction", unsafe { get(&raw mut *kernel, module, name.as_ptr()) })?;
        }
        // The module stays as long as the process.
        Ok(Self { device, set_device, launch, kernels })
    }

    /// Launches a kernel over a grid of blocks of this many threads.
    ///
    /// # Errors
    /// The driver's.
    ///
    /// # Safety
    /// The arguments must be the kernel's, whose pointers must be valid on the device for all that it reads and
    /// writes.
    pub(super) unsafe fn launch<const ARGUMENTS: usize>(
        &self,
        kernel: usize,
        (rows, columns): (u32, u32),
        threads: u32,
        mut arguments: [Argument; ARGUMENTS],
    ) -> Result<(), TchError> {
        let mut addresses = arguments.each_mut().map(Argument::address);
        // SAFETY: the function only reads the number; libtorch sets its own device before each of its operations.
        let mut code = unsafe { (self.set_device)(self.device) };
        if code == 0 {
            // SAFETY: the kernel is of a module that stays loaded, and the addresses are of values that live through the
            // call, which copies them; the caller vouches for their meaning.
            code = unsafe {
                (self.launch)(
                    self.kernels[kernel],
                    rows,
                    columns,
                    1,
                    threads,
                    1,
                    1,
                    0,
                    std::ptr::null_mut(),
                    addresses.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
        }
        match code {
            0 => Ok(()),
            code => Err(launch_error(code)),
        }
    }
}

/// Returns the error of a launch.
fn launch_error(code: libc::c_int) -> TchError {
    torch_error(code, "when a kernel was launched")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{device_fault, is_out_of_memory};
    use compass_plan::engine::EngineFault;

    #[test]
    fn errors_of_launches_are_known_by_the_text_of_cuda() {
        assert!(is_out_of_memory(&launch_error(2)));
        for code in [46, 214, 999] {
            let fault = device_fault(&launch_error(code));
            assert!(matches!(&fault, EngineFault::Lost(text) if text.contains("help: ")), "{code}: {fault:?}");
        }
        // An illegal address can be the doing of one input.
        assert!(matches!(device_fault(&launch_error(700)), EngineFault::Device(_)));
    }
}
