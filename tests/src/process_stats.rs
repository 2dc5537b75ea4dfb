//! Memory, open files and processor time of a process, as /proc tells them.

use std::fs;

/// A line of `/proc/<pid>/status` that holds KiB, in MiB.
fn status_mib(pid: u32, name: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

/// Memory that a process has at this moment, in MiB; `None` once it has ended.
pub fn rss_mib(pid: u32) -> Option<f64> {
    status_mib(pid, "VmRSS")
}

/// The most memory that a process ever had, in MiB; `None` once it has ended.
pub fn peak_rss_mib(pid: u32) -> Option<f64> {
    status_mib(pid, "VmHWM")
}

/// Returns the number of files and sockets that a process has open.
pub fn open_files(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Processor time of all threads of a process so far, in seconds.
pub fn processor_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold spaces; the state follows it, and eleven fields later the times, in hundredths.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}
