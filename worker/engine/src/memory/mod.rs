//! Memory left to this process: by the machine, the control groups, and the limit of `ulimit -v`.

mod groups;

use std::path::Path;

/// Assumed if the system does not report it.
const UNKNOWN: usize = 1 << 30;

/// Bytes of memory of this process; 0 where the kernel does not say.
pub(crate) fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")).and_then(kibibytes).unwrap_or(0)
}

/// Free bytes: the least that the machine or a limit leaves.
pub(crate) fn free_bytes() -> usize {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok();
    let group = groups.and_then(|groups| groups::free_bytes(Path::new("/sys/fs/cgroup"), &groups));
    let limits = std::fs::read_to_string("/proc/self/limits").ok();
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let space = limits.as_deref().and_then(address_space).zip(status.as_deref().and_then(taken_space));
    let space = space.map(|(limit, taken)| limit.saturating_sub(taken));
    machine.into_iter().chain(group).chain(space).min().unwrap_or(UNKNOWN)
}

/// Returns the limit of the address space in bytes, if there is one.
fn address_space(limits: &str) -> Option<usize> {
    limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

/// Returns the used address space.
fn taken_space(status: &str) -> Option<usize> {
    kibibytes(status.lines().find_map(|line| line.strip_prefix("VmSize:"))?)
}

fn kibibytes(text: &str) -> Option<usize> {
    text.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kib| kib * 1024)
}

fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kibibytes(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_bytes_come_from_the_system() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n"), Some(12 * 1024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert!(free_bytes() > 1 << 20);
        let limits = |soft: &str| {
            format!("Max data size  unlimited  unlimited  bytes\nMax address space  {soft}  unlimited  bytes\n")
        };
        assert_eq!(address_space(&limits("4096")), Some(4096));
        assert_eq!(address_space(&limits("unlimited")), None);
        assert_eq!(taken_space("VmPeak:\t9 kB\nVmSize:\t 3 kB\n"), Some(3 * 1024));
    }
}
