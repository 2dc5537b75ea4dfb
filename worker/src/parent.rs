//! Going when the parent goes, even while frozen: a process that is stopped reads no pipe, but the kernel can end it.

use rustix::process::{Signal, set_parent_process_death_signal};

/// Has the kernel kill this process when the thread that started it ends; such threads live as long as their process.
/// Only a second line: where it is refused, the end of the pipe still tells.
pub(crate) fn end_with_parent() {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        tracing::debug!(%error, "the kernel will not end this process with its parent");
    }
}
