//! Outcome of a program whose process exited without a report of the harness.

use crate::outcome::ProgramOutcome;
use crate::policy::Isolation;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Classifies an exit status. `bwrap` reports a signal as 128 plus its number; a program that exits with such a code
/// itself is indistinguishable.
pub(crate) fn ended(isolation: Isolation, status: ExitStatus) -> ProgramOutcome {
    let told = status.code().filter(|&code| isolation == Isolation::Bubblewrap && code > 128).map(|code| code - 128);
    match status.signal().or(told) {
        Some(libc::SIGXCPU) => ProgramOutcome::Timeout,
        Some(signal) => ProgramOutcome::Killed { signal },
        None => ProgramOutcome::Failed {
            exception: String::new(),
            message: format!("ended with exit code {} before its tests were done", status.code().unwrap_or(0)),
            assertion: false,
        },
    }
}
