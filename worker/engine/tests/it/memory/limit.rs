//! A limit of a process's own memory, as `RLIMIT_DATA` of Linux knows it: private memory that can be written, touched or not.

use std::process::Command;

/// Lets this process take this many more bytes than it has; an allocation beyond them fails.
pub(crate) fn allow_more(bytes: u64) {
    let limit = format!("--data={}", own() + bytes);
    let set = Command::new("prlimit").args(["--pid", &std::process::id().to_string(), &limit]).status().unwrap();
    assert!(set.success(), "prlimit {limit}: {set}");
}

/// Bytes of this memory that the process has.
fn own() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
