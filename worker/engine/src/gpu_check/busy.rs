//! Part of the time for which a GPU computes, by NVIDIA's management library, which comes with the driver.

use crate::cuda::symbol;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

type Handle = *mut libc::c_void;
type Init = unsafe extern "C" fn() -> libc::c_int;
type ByBusId = unsafe extern "C" fn(*const libc::c_char, *mut Handle) -> libc::c_int;
type Utilization = unsafe extern "C" fn(Handle, *mut [libc::c_uint; 2]) -> libc::c_int;
type BusId = unsafe extern "C" fn(*mut libc::c_char, libc::c_int, libc::c_int) -> libc::c_int;

/// Time between two readings: the library's own numbers are of a sixth of a second or more.
const PAUSE: Duration = Duration::from_millis(100);

/// Readings while something else runs.
pub(super) struct Busy {
    is_over: Arc<AtomicBool>,
    readings: JoinHandle<Vec<u32>>,
}

impl Busy {
    /// Begins to read; `None` where the library is missing or does not know the GPU.
    pub(super) fn of(ordinal: usize) -> Option<Self> {
        let bus_id = bus_id(ordinal)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let (ready, begun) = std::sync::mpsc::channel();
        let readings = std::thread::spawn(move || {
            let gpu = Gpu::find(&bus_id);
            // The caller waits for it, unless it has ended.
            let _ = ready.send(gpu.is_some());
            let mut readings = Vec::new();
            while let Some(gpu) = gpu.as_ref().filter(|_| !ends.load(Ordering::Relaxed)) {
                readings.extend(gpu.utilization());
                std::thread::sleep(PAUSE);
            }
            readings
        });
        begun.recv().is_ok_and(|found| found).then_some(Self { is_over, readings })
    }

    /// Ends, and returns the mean share of the time in which the GPU computed, in percent.
    pub(super) fn mean(self) -> Option<f64> {
        self.is_over.store(true, Ordering::Relaxed);
        let readings = self.readings.join().ok()?;
        // The first number is of the time before.
        let (_, readings) = readings.split_first()?;
        let sum: u32 = readings.iter().sum();
        (!readings.is_empty()).then(|| f64::from(sum) / readings.len() as f64)
    }
}

/// The place of a GPU on its bus, which both libraries know it by.
fn bus_id(ordinal: usize) -> Option<[libc::c_char; 32]> {
    // SAFETY: this is the function's type in every version of the CUDA runtime API.
    let get = unsafe { std::mem::transmute::<Handle, BusId>(symbol(c"cudaDeviceGetPCIBusId")?) };
    let mut text = [0 as libc::c_char; 32];
    // SAFETY: the function writes only into the buffer, whose length it is given.
    let code = unsafe { get(text.as_mut_ptr(), text.len() as libc::c_int, libc::c_int::try_from(ordinal).ok()?) };
    (code == 0).then_some(text)
}

struct Gpu {
    handle: Handle,
    utilization: Utilization,
}

impl Gpu {
    fn find(bus_id: &[libc::c_char; 32]) -> Option<Self> {
        // SAFETY: the name is a NUL-terminated literal. Loading runs the initialisers of the driver's own library.
        let library = unsafe { libc::dlopen(c"libnvidia-ml.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| {
            // SAFETY: `library` is a handle that dlopen returned, and the name is NUL-terminated.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let (init, by_bus_id, utilization) = (
            find(c"nvmlInit_v2")?,
            find(c"nvmlDeviceGetHandleByPciBusId_v2")?,
            find(c"nvmlDeviceGetUtilizationRates")?,
        );
        // SAFETY: these are the functions' types in every version of NVML; the rates are a structure of two integers.
        let (init, by_bus_id, utilization) = unsafe {
            (
                std::mem::transmute::<Handle, Init>(init),
                std::mem::transmute::<Handle, ByBusId>(by_bus_id),
                std::mem::transmute::<Handle, Utilization>(utilization),
            )
        };
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the text is NUL-terminated, and the handle lives through the call.
        let code = unsafe { init() | by_bus_id(bus_id.as_ptr(), &raw mut handle) };
        (code == 0).then_some(Self { handle, utilization })
    }

    /// Share of the last moments in which the GPU computed, in percent.
    fn utilization(&self) -> Option<u32> {
        let mut rates: [libc::c_uint; 2] = [0; 2];
        // SAFETY: the handle is of this library, and the structure lives through the call.
        let code = unsafe { (self.utilization)(self.handle, &raw mut rates) };
        (code == 0).then_some(rates[0])
    }
}
