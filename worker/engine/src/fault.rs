//! Converts errors of libtorch and of the model's files into [`EngineFault`]s with remedies.

use compass_plan::engine::EngineFault;
use std::path::Path;
use tch::TchError;

/// Returns the first line of a libtorch error; the rest is a C++ backtrace.
pub(crate) fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or("libtorch gave no reason").to_owned()
}

/// Converts a libtorch error during a computation: another try, or another device, may succeed.
pub(crate) fn device_fault(error: &TchError) -> EngineFault {
    EngineFault::Device(format!("libtorch failed: {}", first_line(error)))
}

/// Messages of libtorch, cuBLAS and cuDNN for a lack of memory. A cuBLAS handle that cannot be created means the same
/// on a device that has just computed.
const SHORT_OF_MEMORY: [&str; 6] = [
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
];

/// Whether the error is a lack of memory: less at once may succeed.
pub(crate) fn is_out_of_memory(error: &TchError) -> bool {
    let text = error.to_string();
    SHORT_OF_MEMORY.iter().any(|message| text.contains(message))
}

/// Error about a model file that is missing or unreadable on this host.
pub(crate) fn missing_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Missing(format!("{}: {what}", file.display()))
}

/// Error about a model file with invalid content: every worker with the same file has this error.
pub(crate) fn file_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Model(format!("{}: {what}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_memory_errors_of_all_libraries_are_recognised() {
        for message in [
            "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.18 GiB of which 1.87 GiB is free.",
            "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        ] {
            assert!(is_out_of_memory(&TchError::Torch(message.into())), "{message}");
        }
        assert!(!is_out_of_memory(&TchError::Torch("CUDA error: an illegal memory access was encountered".into())));
    }
}
