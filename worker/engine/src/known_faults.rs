//! Errors of CUDA and its libraries that are known by their text: the culprit, and the remedy.
//!
//! Pure. The texts are taken from `cudaGetErrorString` of CUDA 13.0, which libtorch puts behind `CUDA error: `, and from
//! libtorch's allocators, cuBLAS and cuDNN; a test compares them with the CUDA library itself. Errors that one input can cause
//! (an illegal address, a failed launch) are not in the list of lost devices: a new process finds out.

/// The cause of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Culprit {
    /// The device, the driver or another process: every computation on it fails.
    Device,
    /// This libtorch and this device do not go together.
    Build,
    /// There is too little memory: less at once may succeed.
    Memory,
}

/// A known error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFault {
    /// Part of its text.
    pub(crate) text: &'static str,
    pub(crate) culprit: Culprit,
    /// The remedy.
    pub(crate) help: &'static str,
}

const fn known(culprit: Culprit, text: &'static str, help: &'static str) -> KnownFault {
    KnownFault { text, culprit, help }
}

const MEMORY: &str = "lower max_seq_len or max_out_len, write `dtype = \"bfloat16\"`, raise run_cfg.num_gpus, or end what else \
                      uses the memory (`nvidia-smi`)";
const RESET: &str =
    "reset or replace the GPU: `nvidia-smi -q -d ECC,ROW_REMAPPER`, and Xid in the kernel's log, say which";

/// All that is known; the first whose text occurs counts.
pub(crate) const KNOWN_FAULTS: [KnownFault; 25] = [
    known(Culprit::Memory, "out of memory", MEMORY),
    known(Culprit::Memory, "can't allocate memory", MEMORY),
    known(Culprit::Memory, "not enough memory", MEMORY),
    // A handle that cannot be created means the same on a device that has just computed.
    known(Culprit::Memory, "CUBLAS_STATUS_ALLOC_FAILED", MEMORY),
    known(Culprit::Memory, "CUBLAS_STATUS_NOT_INITIALIZED", MEMORY),
    known(Culprit::Memory, "CUDNN_STATUS_ALLOC_FAILED", MEMORY),
    known(Culprit::Device, "uncorrectable ECC error encountered", RESET),
    known(Culprit::Device, "uncorrectable NVLink error detected during the execution", RESET),
    known(Culprit::Device, "Invalid access of peer GPU memory over nvlink or a hardware error", RESET),
    known(Culprit::Device, "hardware stack error", RESET),
    known(
        Culprit::Device,
        "CUDA-capable device(s) is/are busy or unavailable",
        "end the process that holds the GPU, or set its compute mode to DEFAULT: `nvidia-smi`, `nvidia-smi -q -d COMPUTE`",
    ),
    known(
        Culprit::Device,
        "exclusive-thread device already in use by a different thread",
        "set the GPU's compute mode to DEFAULT: `nvidia-smi -q -d COMPUTE` shows it",
    ),
    known(
        Culprit::Device,
        "no CUDA-capable device is detected",
        "compare CUDA_VISIBLE_DEVICES with `nvidia-smi -L`; a GPU that has gone from that list fell off the bus",
    ),
    known(
        Culprit::Device,
        "invalid device ordinal",
        "compare CUDA_VISIBLE_DEVICES with `nvidia-smi -L`; of MIG slices a process sees only one",
    ),
    known(
        Culprit::Device,
        "system not yet initialized",
        "start NVIDIA's fabric manager, which GPUs on NVSwitch need: `systemctl status nvidia-fabricmanager`",
    ),
    known(
        Culprit::Device,
        "system has unsupported display driver / cuda driver combination",
        "make the driver's kernel module and its libcuda.so.1 one version: reboot after an update of the driver; a container \
         must use the host's",
    ),
    known(
        Culprit::Device,
        "forward compatibility was attempted on non supported HW",
        "take CUDA's `compat` folder out of LD_LIBRARY_PATH, or update the driver",
    ),
    known(Culprit::Device, "driver shutting down", "start the worker again"),
    known(
        Culprit::Device,
        "MPS client failed to connect to the MPS control daemon or the MPS server",
        "start the MPS daemon, or unset CUDA_MPS_PIPE_DIRECTORY",
    ),
    known(Culprit::Device, "the MPS client has been terminated by the server", "look at the MPS server's log"),
    known(
        Culprit::Device,
        "CUDA error: unknown error",
        "look at `nvidia-smi`, at Xid in the kernel's log (79: the GPU fell off the bus), and whether /dev/nvidia-uvm exists",
    ),
    known(
        Culprit::Device,
        "initialization error",
        "look at `nvidia-smi`, at Xid in the kernel's log, and whether /dev/nvidia-uvm exists",
    ),
    known(
        Culprit::Device,
        "CUDA driver version is insufficient for CUDA runtime version",
        "install NVIDIA's driver 580 or newer",
    ),
    known(
        Culprit::Build,
        "no kernel image is available for execution on the device",
        "this libtorch is built for GPUs of compute capability 7.5 and newer: start the worker with --device cpu here",
    ),
    known(
        Culprit::Build,
        "the provided PTX was compiled with an unsupported toolchain",
        "install NVIDIA's driver 580 or newer",
    ),
];

/// Says that `what` has no room in a worker's memory, and what helps.
pub(crate) fn lacks_memory(what: &str) -> String {
    format!("not enough memory for {what}; help: {MEMORY}")
}

/// Returns the known fault with a text.
pub(crate) fn known_fault(text: &str) -> Option<&'static KnownFault> {
    KNOWN_FAULTS.iter().find(|known| text.contains(known.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::error_text;

    /// Texts that CUDA itself gives, with the number of the error.
    const OF_CUDA: [(i32, Culprit); 18] = [
        (2, Culprit::Memory),
        (3, Culprit::Device),
        (4, Culprit::Device),
        (35, Culprit::Device),
        (46, Culprit::Device),
        (100, Culprit::Device),
        (101, Culprit::Device),
        (209, Culprit::Build),
        (214, Culprit::Device),
        (216, Culprit::Device),
        (220, Culprit::Device),
        (222, Culprit::Build),
        (226, Culprit::Device),
        (714, Culprit::Device),
        (802, Culprit::Device),
        (803, Culprit::Device),
        (804, Culprit::Device),
        (999, Culprit::Device),
    ];

    #[test]
    fn texts_are_those_of_the_cuda_library() {
        // libtorch needs CUDA's run-time library on machines without a GPU, too.
        for (code, culprit) in OF_CUDA {
            let text = error_text(code).expect("libcudart is loaded beside libtorch");
            let found = known_fault(&format!("CUDA error: {text}"));
            assert_eq!(found.map(|known| known.culprit), Some(culprit), "{code}: {text}");
        }
        for (code, culprit) in [(805, Culprit::Device), (810, Culprit::Device)] {
            let text = error_text(code).unwrap();
            assert_eq!(known_fault(&text).map(|known| known.culprit), Some(culprit), "{code}: {text}");
        }
    }

    #[test]
    fn faults_that_one_input_can_cause_blame_no_device() {
        // Invalid argument, illegal address, assertion in a kernel, illegal instruction, misaligned address, failed launch.
        for code in [1, 700, 710, 715, 716, 719] {
            let text = format!("CUDA error: {}", error_text(code).unwrap());
            assert!(known_fault(&text).is_none(), "{text}");
        }
    }

    #[test]
    fn every_known_fault_says_what_to_do_in_one_line() {
        for known in KNOWN_FAULTS {
            assert!(!known.help.is_empty() && !known.help.contains('\n') && !known.help.ends_with('.'), "{known:?}");
            assert_eq!(known_fault(known.text).map(|found| found.help), Some(known.help), "{known:?} hides another");
        }
    }
}
