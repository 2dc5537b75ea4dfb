//! What the operator allows, and the ways of isolating there are.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// How a program is kept from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces made by `bwrap`, and seccomp.
    Bubblewrap,
    /// Landlock and seccomp on a single process.
    Landlock,
    /// A plain process with resource limits, which can read, write and send what its user can.
    Unsafe,
}

impl Isolation {
    /// Those that contain a hostile program, the better one first.
    pub const SAFE: [Self; 2] = [Self::Bubblewrap, Self::Landlock];
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bubblewrap => "bubblewrap (namespaces and seccomp)",
            Self::Landlock => "landlock and seccomp (single process, nothing writable)",
            Self::Unsafe => "none (unsafe local execution)",
        })
    }
}

/// What [`Sandbox::detect`](crate::Sandbox::detect) may choose from.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Tried in this order.
    pub isolations: Vec<Isolation>,
    /// When no isolation works: run programs as plain processes rather than refuse.
    pub unsafe_local_exec: bool,
    /// The interpreter; without it `/usr/bin/python3`, `/usr/local/bin/python3` and those on the `PATH` are tried.
    pub python: Option<PathBuf>,
    /// Further directories that programs may read, such as one of packages.
    pub readable: Vec<PathBuf>,
    /// Programs that run at once.
    pub concurrent: NonZeroUsize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            isolations: Isolation::SAFE.to_vec(),
            unsafe_local_exec: false,
            python: None,
            readable: Vec::new(),
            concurrent: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
