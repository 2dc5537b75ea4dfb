//! Confinement of the child between fork and exec. The only file of this package with `unsafe`.

use landlock::{RulesetCreated, RulesetStatus};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit, setsid};
use seccompiler::BpfProgram;
use std::io;
use std::os::fd::OwnedFd;
use tokio::process::Command;

/// Prepared before the fork, so that the child only makes system calls.
pub(crate) struct Confinement {
    /// Soft and hard limits.
    pub limits: Vec<(Resource, u64, u64)>,
    /// Open `cgroup.procs` of the control group to enter.
    pub group: Option<OwnedFd>,
    /// Descriptors that the executed program keeps, under the same numbers. All others above 2 are closed.
    pub passed: Vec<OwnedFd>,
    pub ruleset: Option<RulesetCreated>,
    pub filter: Option<BpfProgram>,
}

impl Confinement {
    /// Makes `command` confine itself before it executes anything.
    pub(crate) fn apply(mut self, command: &mut Command) {
        // SAFETY: the closure runs in a forked child of a process with threads. It makes system calls on memory that
        // was laid out before the fork, takes no lock and spawns nothing; on an error it returns a code, not a message.
        unsafe { command.pre_exec(move || self.enter()) };
    }

    fn enter(&mut self) -> io::Result<()> {
        if let Some(procs_file) = &self.group {
            rustix::io::write(procs_file, b"0")?;
        }
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        for (resource, soft, hard) in &self.limits {
            setrlimit(*resource, Rlimit { current: Some(*soft), maximum: Some(*hard) })?;
        }
        close_on_exec()?;
        for descriptor in &self.passed {
            fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        if let Some(ruleset) = self.ruleset.take() {
            match ruleset.restrict_self() {
                Ok(status) if status.ruleset == RulesetStatus::FullyEnforced => {}
                _ => return Err(Errno::PERM.into()),
            }
        }
        if let Some(filter) = &self.filter {
            seccompiler::apply_filter(filter).map_err(|_| io::Error::from(Errno::PERM))?;
        }
        Ok(())
    }
}

/// Marks every descriptor above 2, including those that this process inherited, as close-on-exec.
fn close_on_exec() -> io::Result<()> {
    // SAFETY: a system call that takes three integers and touches no memory; descriptors stay open in this process.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
