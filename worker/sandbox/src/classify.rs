//! The verdict on a program whose process ended without the harness saying why.

use crate::policy::Isolation;
use crate::verdict::Verdict;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// `bwrap` passes a signal on as 128 plus its number; a program that exits with such a code by itself reads the same.
pub(crate) fn ended(isolation: Isolation, status: ExitStatus) -> Verdict {
    let told = status.code().filter(|&code| isolation == Isolation::Bubblewrap && code > 128).map(|code| code - 128);
    match status.signal().or(told) {
        Some(libc::SIGXCPU) => Verdict::Timeout,
        Some(signal) => Verdict::Killed { signal },
        None => Verdict::Failed {
            exception: String::new(),
            message: format!("ended with exit code {} before its tests were done", status.code().unwrap_or(0)),
            assertion: false,
        },
    }
}
