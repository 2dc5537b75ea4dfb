//! Converts errors of libtorch and of the model's files into [`EngineFault`]s with remedies.

use crate::known_faults::{Culprit, known_fault};
use compass_plan::engine::EngineFault;
use std::path::Path;
use tch::TchError;

/// Returns the first line of a libtorch error; the rest is a C++ backtrace.
pub(crate) fn first_line(error: &TchError) -> String {
    let text = error.to_string();
    // The prefix that tch puts before libtorch's own text says nothing.
    let said = text.strip_prefix("Internal torch error: ").unwrap_or(&text);
    said.lines().next().unwrap_or("libtorch gave no reason").to_owned()
}

/// Converts a libtorch error during a computation: another try, or another device, may succeed.
pub(crate) fn device_fault(error: &TchError) -> EngineFault {
    let said = first_line(error);
    match known_fault(&error.to_string()) {
        None => EngineFault::Device(format!("libtorch failed: {said}")),
        Some(known) => {
            let text = format!("libtorch failed: {said}; help: {}", known.help);
            match known.culprit {
                Culprit::Device => EngineFault::Lost(text),
                Culprit::Build | Culprit::Memory => EngineFault::Device(text),
            }
        }
    }
}

/// Returns whether the error is a lack of memory: less at once may succeed.
pub(crate) fn is_out_of_memory(error: &TchError) -> bool {
    known_fault(&error.to_string()).is_some_and(|known| known.culprit == Culprit::Memory)
}

/// Error about a model file that is missing or unreadable on this host.
pub(crate) fn missing_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Missing(format!("{}: {}", file.display(), escape_control_characters(&what.to_string())))
}

/// Error about a model file with invalid content: every worker with the same file has this error.
pub(crate) fn file_fault(file: &Path, what: impl std::fmt::Display) -> EngineFault {
    EngineFault::Model(format!("{}: {}", file.display(), escape_control_characters(&what.to_string())))
}

/// Escapes control characters: names come from the file and must neither break a line nor control the terminal.
fn escape_control_characters(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_damaged_file_stay_on_one_line() {
        let what = "its storage \n\u{1b}[2J is missing";
        for fault in [file_fault(Path::new("a.pt"), what), missing_fault(Path::new("a.pt"), what)] {
            assert_eq!(fault.to_string().lines().count(), 1, "{fault}");
            assert!(fault.to_string().contains(r"a.pt: its storage \n\u{1b}[2J is missing"), "{fault}");
        }
    }

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

    #[test]
    fn faults_say_what_to_do() {
        // As libtorch prints them: the error, then advice to programmers, then a backtrace.
        let advice = "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below \
                      might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1";
        let fault = |text: &str| device_fault(&TchError::Torch(format!("{text}{advice}")));
        let lost = fault("CUDA error: uncorrectable ECC error encountered");
        assert!(matches!(lost, EngineFault::Lost(_)), "{lost:?}");
        assert_eq!(
            lost.to_string(),
            "libtorch failed: CUDA error: uncorrectable ECC error encountered; help: reset or replace the GPU: \
             `nvidia-smi -q -d ECC,ROW_REMAPPER`, and Xid in the kernel's log, say which"
        );
        let unknown = fault("CUDA error: unknown error");
        assert!(matches!(&unknown, EngineFault::Lost(text) if text.contains("fell off the bus")), "{unknown:?}");
        let short = fault("CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.18 GiB.");
        assert!(matches!(&short, EngineFault::Device(text) if text.contains("help: lower max_seq_len")), "{short:?}");
        let input = fault("CUDA error: device-side assert triggered");
        assert!(matches!(&input, EngineFault::Device(text) if !text.contains("help:")), "{input:?}");
    }
}
