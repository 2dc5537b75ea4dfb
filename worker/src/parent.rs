//! A child and its parent before the kernel: a child goes when its parent goes, even while frozen, since a process that is
//! stopped reads no pipe; not before, at a signal that is the parent's to judge; and in its parent's place where memory is short.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Has the kernel kill this process when the thread that started it ends; such threads live as long as their process.
/// Only a second line: where it is refused, the end of the pipe still tells.
pub(crate) fn end_with_parent() {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        tracing::debug!(%error, "the kernel will not end this process with its parent");
    }
}

/// Has the kernel end this process rather than its parent, which can start another, when memory is short.
pub(crate) fn end_before_parent() {
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", "1000") {
        tracing::debug!(%error, "the kernel chooses by itself whom to end when memory is short");
    }
}

/// Leaves the signals that ask to end to the agent. Slurm sends them to every process of a job: engines that went at once
/// would lose what the agent still wants to finish.
///
/// # Errors
/// No handler could be set.
pub(crate) fn leave_signals_to_agent() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        // The handler stays as long as the process; that nobody listens to it is the point.
        drop(signal(kind)?);
    }
    Ok(())
}
