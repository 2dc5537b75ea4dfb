//! How much memory a process and all its descendants hold. Limits bound one process each; many together could still fill
//! the machine.

use rustix::process::Pid;
use std::fs;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(50);

/// Returns once `root` and its descendants together hold more than `limit` bytes.
pub(crate) async fn exceeds(root: Pid, limit: u64) {
    loop {
        tokio::time::sleep(PERIOD).await;
        if resident(root) > limit {
            return;
        }
    }
}

/// Resident bytes that belong to no file: private pages and shared memory. Pages shared after a fork count for each.
fn resident(root: Pid) -> u64 {
    let mut bytes = 0;
    let mut pending = vec![root.as_raw_pid()];
    while let Some(pid) = pending.pop() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        bytes += ["RssAnon:", "RssShmem:"].iter().map(|name| kilobytes(&status, name) * 1024).sum::<u64>();
        pending.extend(children(pid));
    }
    bytes
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Every thread may have children of its own. A process that ends meanwhile has none.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<i32>>())
        .collect()
}
