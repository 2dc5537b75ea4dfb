//! How much memory this process may still take, as the system says.

/// What is assumed where the system does not say.
const UNKNOWN: usize = 1 << 30;

/// Bytes that are free: what the machine has left, or the control group's limit leaves.
pub(crate) fn free_bytes() -> usize {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let group = std::fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| {
        let path = text.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        let number = |name: &str| {
            let read = std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{name}")).ok()?;
            read.trim().parse::<usize>().ok()
        };
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    });
    machine.into_iter().chain(group).min().unwrap_or(UNKNOWN)
}

fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_left() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n"), Some(12 * 1024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert!(free_bytes() > 1 << 20);
    }
}
