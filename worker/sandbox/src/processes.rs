//! Process limit that a program's process sets on itself.

use crate::bubblewrap::UNPRIVILEGED_UID;
use crate::policy::Isolation;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Returns the limit. Since 5.14, Linux counts a user's processes per user namespace. Otherwise all processes of the
/// user count, so that those running now are added.
pub(crate) fn limit(isolation: Isolation, processes: u32) -> u64 {
    let own = isolation == Isolation::Bubblewrap && kernel() >= (5, 14);
    u64::from(processes) + if own { 0 } else { running() }
}

fn kernel() -> (u32, u32) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Number of threads of all processes of the user that runs programs.
fn running() -> u64 {
    let own = rustix::process::geteuid();
    let user = if own.is_root() { UNPRIVILEGED_UID } else { own.as_raw() };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user))
        .map(|entry| fs::read_dir(entry.path().join("task")).map_or(0, |threads| threads.count() as u64))
        .sum()
}
