//! A child and its parent before the kernel: a child goes when its parent goes, even while frozen, since a process that is
//! stopped reads no pipe; and where memory is short it goes in its parent's place.

use rustix::process::{Signal, set_parent_process_death_signal};

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
