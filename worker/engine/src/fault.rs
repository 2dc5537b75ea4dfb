//! How errors of libtorch and of the model's files become [`EngineFault`]s that a person can act on.

use compass_plan::engine::EngineFault;
use std::path::Path;
use tch::TchError;

/// The first line of a libtorch error; the rest is a C++ backtrace.
pub(crate) fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or("libtorch gave no reason").to_owned()
}

/// A libtorch error while computing: another try, or another device, may succeed.
pub(crate) fn device_fault(error: &TchError) -> EngineFault {
    EngineFault::Device(format!("libtorch failed: {}", first_line(error)))
}

/// What libtorch, cuBLAS and cuDNN say when memory is short. A handle of cuBLAS that cannot be made is a lack of memory,
/// too: nothing else keeps one from being made on a device that has just computed.
const SHORT_OF_MEMORY: [&str; 6] = [
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
];

/// Whether there was not enough memory: less at once may do.
pub(crate) fn is_out_of_memory(error: &TchError) -> bool {
    let text = error.to_string();
    SHORT_OF_MEMORY.iter().any(|said| text.contains(said))
}

/// A file of the model that is missing or cannot be read on this host.
pub(crate) fn missing_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Missing(format!("{}: {what}", file.display()))
}

/// A file of the model whose content cannot be used: every worker with the same file would say the same.
pub(crate) fn file_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Model(format!("{}: {what}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_librarys_lack_of_memory_is_known() {
        for said in [
            "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.18 GiB of which 1.87 GiB is free.",
            "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        ] {
            assert!(is_out_of_memory(&TchError::Torch(said.into())), "{said}");
        }
        assert!(!is_out_of_memory(&TchError::Torch("CUDA error: an illegal memory access was encountered".into())));
    }
}
