//! Ties a child to its parent in the kernel. The child ends with its parent, even while stopped, as a stopped process
//! reads no pipe. It does not end before: signals are the parent's to handle. But it is OOM-killed before its parent.

use rustix::process::{Signal, set_parent_process_death_signal};
use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Makes the kernel kill this process when the thread that started it ends; these threads live as long as their process.
/// A second line of defence: if it fails, the closed pipe still ends the child.
pub(crate) fn end_with_parent() {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        tracing::debug!(%error, "cannot set the parent death signal");
    }
}

/// Makes the kernel OOM-kill this process before its parent, which can start another one.
pub(crate) fn end_before_parent() {
    if let Err(error) = std::fs::write("/proc/self/oom_score_adj", "1000") {
        tracing::debug!(%error, "cannot raise the OOM score of this process");
    }
}

/// Leaves termination signals to the agent. Slurm sends them to every process of a job; engines that exited at once
/// would lose batches that the agent still wants to finish.
///
/// # Errors
/// A handler cannot be installed.
pub(crate) fn leave_signals_to_agent() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        // The handler lives as long as the process; its stream is never read, on purpose.
        drop(signal(kind)?);
    }
    Ok(())
}
