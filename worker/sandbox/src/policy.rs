//! The operator's policy, and the kinds of isolation.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Way in which a program is contained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces made by `bwrap`, and seccomp.
    Bubblewrap,
    /// Landlock and seccomp on a single process.
    Landlock,
    /// A plain process with resource limits, which has all the rights of its user.
    Unsafe,
}

impl Isolation {
    /// Isolations that contain a hostile program, the better one first.
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

/// Choices of [`Sandbox::detect`](crate::Sandbox::detect).
#[derive(Clone, Debug)]
pub struct Policy {
    /// Isolations in the order in which they are tried.
    pub isolations: Vec<Isolation>,
    /// Set to run programs as plain processes when no isolation works.
    pub unsafe_local_exec: bool,
    /// The interpreter; by default `/usr/bin/python3`, `/usr/local/bin/python3` and those on the `PATH` are tried.
    pub python: Option<PathBuf>,
    /// Further directories that programs may read, for example with packages.
    pub readable: Vec<PathBuf>,
    /// Maximum number of programs running at once.
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
