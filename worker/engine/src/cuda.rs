//! The CUDA half of libtorch: loading it into a binary that links only the CPU half, and its reports.
//!
//! Functions of CUDA's libraries are looked up by name in the loaded libraries: no header, no shim, and nothing without
//! a GPU.

use crate::known_faults::known_fault;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tch::{Cuda, TchError};

/// Result of loading the CUDA half of libtorch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaLibrary {
    /// Loaded from this file.
    Loaded(PathBuf),
    /// No file of this kind is beside libtorch or in `LD_LIBRARY_PATH`: a machine without CUDA.
    Absent,
    /// The dynamic linker rejected the file for this reason; the CPU remains.
    Failed(String),
}

impl CudaLibrary {
    /// Returns whether the CUDA half can be used.
    pub fn is_loaded(&self) -> bool {
        matches!(self, Self::Loaded(_))
    }
}

/// An error of CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaError {
    /// Its number, for example 802.
    pub code: i32,
    /// CUDA's own words.
    pub text: String,
    /// Remedy, if it is known.
    pub help: Option<&'static str>,
}

/// Resources that the CUDA half of libtorch can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CudaRuntime {
    /// Number of working GPUs.
    pub devices: usize,
    /// The newest CUDA version that the driver supports, in CUDA's numbering: 13000 is 13.0.
    pub driver: Option<u32>,
    /// The CUDA version that this libtorch was built with.
    pub needs: Option<u32>,
    /// CUDA's own reason for finding no GPU.
    pub error: Option<CudaError>,
}

impl CudaRuntime {
    /// Queries the state; empty if `library` is not loaded.
    pub fn look(library: &CudaLibrary) -> Self {
        if !library.is_loaded() {
            return Self::default();
        }
        let devices = if Cuda::is_available() { usize::try_from(Cuda::device_count()).unwrap_or(0) } else { 0 };
        let (driver, needs) = (cuda_version(c"cudaDriverGetVersion"), cuda_version(c"cudaRuntimeGetVersion"));
        let error = if devices == 0 { count_error() } else { None };
        Self { devices, driver, needs, error }
    }
}

/// Returns the error with which CUDA refuses to count the GPUs; `None` if it counts them.
fn count_error() -> Option<CudaError> {
    type GetCount = unsafe extern "C" fn(*mut libc::c_int) -> libc::c_int;
    // SAFETY: this is the function's type in every version of the CUDA runtime API.
    let get = unsafe { std::mem::transmute::<*mut libc::c_void, GetCount>(symbol(c"cudaGetDeviceCount")?) };
    let mut count = 0;
    // SAFETY: the function only writes the integer, which lives through the call.
    let code = unsafe { get(&raw mut count) };
    let text = error_text(code).filter(|_| code != 0)?;
    let help = known_fault(&format!("CUDA error: {text}")).map(|known| known.help);
    Some(CudaError { code, text, help })
}

/// Returns CUDA's words for the number of an error; `None` without its run-time library.
pub(crate) fn error_text(code: i32) -> Option<String> {
    type GetErrorString = unsafe extern "C" fn(libc::c_int) -> *const libc::c_char;
    // SAFETY: this is the function's type in every version of the CUDA runtime API; an enumeration is an int there.
    let get = unsafe { std::mem::transmute::<*mut libc::c_void, GetErrorString>(symbol(c"cudaGetErrorString")?) };
    // SAFETY: the function takes any number and returns a string of the library's own, or null.
    let text = unsafe { get(code) };
    // SAFETY: the string is NUL-terminated and stays as long as the library, which is not unloaded.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Returns CUDA's words for an error, and its number. The driver and the run-time library have the same numbers.
pub(crate) fn words(code: libc::c_int) -> String {
    error_text(code).map_or_else(|| format!("error {code}"), |text| format!("{text} (error {code})"))
}

/// Returns an error that begins as libtorch's own do, so that its cause is known by its text.
pub(crate) fn torch_error(code: libc::c_int, when: &str) -> TchError {
    TchError::Torch(format!("CUDA error: {}, {when}", words(code)))
}

type Handle = *mut libc::c_void;

/// A point in a GPU's work, for which the host can wait.
pub(crate) struct CudaEvent {
    event: Handle,
    query: unsafe extern "C" fn(Handle) -> libc::c_int,
    wait: unsafe extern "C" fn(Handle) -> libc::c_int,
    destroy: unsafe extern "C" fn(Handle) -> libc::c_int,
}

impl CudaEvent {
    /// Returns the point after everything that was submitted to a GPU so far, on libtorch's default stream; `None` without CUDA's
    /// run-time library.
    ///
    /// # Errors
    /// CUDA's, possibly of work that was submitted before.
    pub(crate) fn record(ordinal: usize) -> Result<Option<Self>, TchError> {
        type SetDevice = unsafe extern "C" fn(libc::c_int) -> libc::c_int;
        type Create = unsafe extern "C" fn(*mut Handle, libc::c_uint) -> libc::c_int;
        type Record = unsafe extern "C" fn(Handle, Handle) -> libc::c_int;
        type OfOne = unsafe extern "C" fn(Handle) -> libc::c_int;
        /// `cudaEventDisableTiming`.
        const NO_TIMING: libc::c_uint = 2;
        let found = || {
            Some((
                symbol(c"cudaSetDevice")?,
                symbol(c"cudaEventCreateWithFlags")?,
                symbol(c"cudaEventRecord")?,
                symbol(c"cudaEventQuery")?,
                symbol(c"cudaEventSynchronize")?,
                symbol(c"cudaEventDestroy")?,
                libc::c_int::try_from(ordinal).ok()?,
            ))
        };
        let Some((set, create, record, query, wait, destroy, device)) = found() else { return Ok(None) };
        // SAFETY: these are the functions' types in every version of the CUDA runtime API; events and streams are pointers.
        let (set, create, record, query, wait, destroy) = unsafe {
            (
                std::mem::transmute::<Handle, SetDevice>(set),
                std::mem::transmute::<Handle, Create>(create),
                std::mem::transmute::<Handle, Record>(record),
                std::mem::transmute::<Handle, OfOne>(query),
                std::mem::transmute::<Handle, OfOne>(wait),
                std::mem::transmute::<Handle, OfOne>(destroy),
            )
        };
        let checked = |code: libc::c_int| match code {
            0 => Ok(()),
            code => Err(torch_error(code, "when a copy to the host was asked for")),
        };
        let mut event: Handle = std::ptr::null_mut();
        // SAFETY: the functions read the numbers and write the handle, which lives through the calls. libtorch sets its own
        // device before each of its operations.
        checked(unsafe { set(device) })?;
        // SAFETY: as above.
        checked(unsafe { create(&raw mut event, NO_TIMING) })?;
        let this = Self { event, query, wait, destroy };
        // SAFETY: the event was created on this device; the null stream is the default one.
        checked(unsafe { record(this.event, std::ptr::null_mut()) })?;
        Ok(Some(this))
    }

    /// Returns whether the GPU has reached this point, or has failed, which waiting reports.
    pub(crate) fn is_past(&self) -> bool {
        /// `cudaErrorNotReady`.
        const NOT_READY: libc::c_int = 600;
        // SAFETY: the event was created, and is destroyed by `drop` alone.
        unsafe { (self.query)(self.event) != NOT_READY }
    }

    /// Waits until the GPU has reached this point.
    ///
    /// # Errors
    /// CUDA's, possibly of any work before it.
    pub(crate) fn wait(&self) -> Result<(), TchError> {
        // SAFETY: the event was created, and is destroyed by `drop` alone.
        match unsafe { (self.wait)(self.event) } {
            0 => Ok(()),
            code => Err(torch_error(code, "while a copy to the host was waited for")),
        }
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // SAFETY: the event was created, and nothing else destroys it.
        unsafe { (self.destroy)(self.event) };
    }
}

/// Returns a version from a function of the CUDA runtime library.
fn cuda_version(function: &CStr) -> Option<u32> {
    type GetVersion = unsafe extern "C" fn(*mut libc::c_int) -> libc::c_int;
    // SAFETY: both requested functions have this type in every version of the CUDA runtime API.
    let get = unsafe { std::mem::transmute::<*mut libc::c_void, GetVersion>(symbol(function)?) };
    let mut version = 0;
    // SAFETY: the function only writes the integer, which lives through the call.
    let code = unsafe { get(&raw mut version) };
    u32::try_from(version).ok().filter(|&version| code == 0 && version > 0)
}

const CUDA_LIBRARY: &str = "libtorch_cuda.so";

/// Loads libtorch_cuda.so if it exists. Must be called once, before the first tensor is made: libtorch looks for its
/// CUDA hooks when it first needs them.
pub fn load_cuda_library() -> CudaLibrary {
    let Some(path) = candidates().into_iter().find(|path| path.is_file()) else {
        return CudaLibrary::Absent;
    };
    match open_globally(&path) {
        Ok(()) => CudaLibrary::Loaded(path),
        Err(reason) => CudaLibrary::Failed(reason),
    }
}

/// Candidate files in order of preference: beside the running libtorch, then the linker's own path.
fn candidates() -> Vec<PathBuf> {
    let beside = std::fs::read_to_string("/proc/self/maps").ok().and_then(|maps| directory_of_libtorch(&maps));
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = std::env::split_paths(&path).filter(|entry| entry != Path::new("")).collect::<Vec<_>>();
    beside.into_iter().chain(listed).map(|directory| directory.join(CUDA_LIBRARY)).collect()
}

/// Returns the folder of libtorch_cpu.so in a `/proc/<pid>/maps` listing.
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
        return Err(format!("cannot load {}: the linker gave no reason", path.display()));
    }
    // SAFETY: dlerror returned a non-null, NUL-terminated string that stays valid until the next call of its family.
    Err(unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned())
}

/// Returns free and total bytes of a GPU, from the CUDA runtime library that libtorch loaded; `None` without one.
pub(crate) fn cuda_memory(ordinal: usize) -> Option<(usize, usize)> {
    type SetDevice = unsafe extern "C" fn(libc::c_int) -> libc::c_int;
    type MemGetInfo = unsafe extern "C" fn(*mut usize, *mut usize) -> libc::c_int;
    let set = symbol(c"cudaSetDevice")?;
    let get = symbol(c"cudaMemGetInfo")?;
    // SAFETY: these are the two functions' types in every version of the CUDA runtime API, and its symbols are
    // unversioned.
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

/// Returns a GPU's name, from the driver's library.
pub(crate) fn cuda_name(ordinal: usize) -> Option<String> {
    type GetDevice = unsafe extern "C" fn(*mut libc::c_int, libc::c_int) -> libc::c_int;
    type GetName = unsafe extern "C" fn(*mut libc::c_char, libc::c_int, libc::c_int) -> libc::c_int;
    let (get, name) = (driver_symbol(c"cuDeviceGet")?, driver_symbol(c"cuDeviceGetName")?);
    // SAFETY: these are the two functions' types in every version of the CUDA driver API.
    let (get, name) = unsafe {
        (
            std::mem::transmute::<*mut libc::c_void, GetDevice>(get),
            std::mem::transmute::<*mut libc::c_void, GetName>(name),
        )
    };
    let (mut device, mut text) = (0, [0 as libc::c_char; 128]);
    // SAFETY: both write only into the integer and the buffer, whose length they are given, and which live through the
    // calls.
    let code = unsafe {
        get(&raw mut device, libc::c_int::try_from(ordinal).ok()?)
            | name(text.as_mut_ptr(), text.len() as libc::c_int, device)
    };
    // SAFETY: the driver ends the name with a NUL within the buffer, which was zeros before.
    (code == 0).then(|| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// Returns a GPU's number of multiprocessors, from the driver's library.
pub(crate) fn cuda_processors(ordinal: usize) -> Option<libc::c_int> {
    type GetDevice = unsafe extern "C" fn(*mut libc::c_int, libc::c_int) -> libc::c_int;
    type GetAttribute = unsafe extern "C" fn(*mut libc::c_int, libc::c_int, libc::c_int) -> libc::c_int;
    /// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
    const MULTIPROCESSORS: libc::c_int = 16;
    let (get, attribute) = (driver_symbol(c"cuDeviceGet")?, driver_symbol(c"cuDeviceGetAttribute")?);
    // SAFETY: these are the two functions' types in every version of the CUDA driver API.
    let (get, attribute) = unsafe {
        (
            std::mem::transmute::<*mut libc::c_void, GetDevice>(get),
            std::mem::transmute::<*mut libc::c_void, GetAttribute>(attribute),
        )
    };
    let (mut device, mut processors) = (0, 0);
    // SAFETY: both write only into the integers, which live through the calls.
    let code = unsafe {
        get(&raw mut device, libc::c_int::try_from(ordinal).ok()?)
            | attribute(&raw mut processors, MULTIPROCESSORS, device)
    };
    (code == 0).then_some(processors)
}

/// Returns a function of the driver's library, which the CUDA run-time library has loaded.
fn driver_symbol(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: the name is a NUL-terminated literal; nothing is loaded that is not loaded already.
    let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if driver.is_null() {
        return None;
    }
    // SAFETY: `driver` is a handle that dlopen returned; the name is NUL-terminated.
    let found = unsafe { libc::dlsym(driver, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Returns a function of a loaded library.
pub(crate) fn symbol(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: `name` is NUL-terminated and lives through the call, which only looks names up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtorch_is_found_in_a_maps_listing() {
        let maps =
            "7f00-7f01 r-xp 0 08:01 5 /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 08:01 6 /opt/a b/lib/libtorch_cpu.so\n";
        assert_eq!(directory_of_libtorch(maps), Some(PathBuf::from("/opt/a b/lib")));
        assert_eq!(directory_of_libtorch("7f00-7f01 rw-p 0 00:00 0\n"), None);
    }

    #[test]
    fn invalid_library_is_rejected_with_a_reason() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(open_globally(file.path()).unwrap_err().contains("too short"));
    }

    #[test]
    fn libraries_that_do_not_go_together_are_rejected_in_the_words_of_the_linker() {
        let folder = tempfile::tempdir().unwrap();
        let library = |name: &str, source: &str, needs: &[&str]| {
            let (source_file, file) =
                (folder.path().join(format!("{name}.c")), folder.path().join(format!("lib{name}.so")));
            std::fs::write(&source_file, source).unwrap();
            let mut linked = std::process::Command::new("cc");
            linked.args(["-shared", "-fPIC", "-o"]).arg(&file).arg(&source_file);
            linked.arg("-L").arg(folder.path()).args(needs);
            assert!(linked.status().unwrap().success());
            file
        };
        // As the CUDA half of another version asks for what this libtorch_cpu has not.
        let other =
            library("other", "extern int of_another_version(void); int f(void) { return of_another_version(); }", &[]);
        let error = open_globally(&other).unwrap_err();
        assert!(error.contains("libother.so: undefined symbol: of_another_version"), "{error}");
        let cudnn = library("cudnn_of_the_test", "int g(void) { return 1; }", &[]);
        let half = library("half", "extern int g(void); int h(void) { return g(); }", &["-lcudnn_of_the_test"]);
        std::fs::remove_file(cudnn).unwrap();
        let error = open_globally(&half).unwrap_err();
        assert!(error.contains("libcudnn_of_the_test.so: cannot open shared object file: No such file"), "{error}");
    }

    #[test]
    fn state_is_empty_without_the_library() {
        for library in [CudaLibrary::Absent, CudaLibrary::Failed("why".into())] {
            assert_eq!(CudaRuntime::look(&library), CudaRuntime::default());
        }
    }
}
