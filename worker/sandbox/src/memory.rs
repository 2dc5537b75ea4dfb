//! Total memory of a program: processes, sockets, files. Other limits apply to one process each; many processes
//! together could still fill the machine. The seccomp filter rejects what cannot be counted from outside (unmapped
//! shared pages, TCP buffers).

use rustix::process::Pid;
use std::fs;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(20);
/// Excess of a socket buffer over its limit: the last piece starts below the limit.
const LAST_PIECE: u64 = 64 << 10;
/// Cost of a file in memory besides its content, as the kernel counts it (`BOGO_INODE_SIZE`).
const INODE: u64 = 1 << 10;

/// Returns once `root` and its descendants together use more than `limit` bytes. With `namespaces`, `root` has its own,
/// and their sockets and files count too.
pub(crate) async fn exceeds(root: Pid, namespaces: bool, limit: u64) {
    let buffer = sent_by_default() + LAST_PIECE;
    loop {
        tokio::time::sleep(PERIOD).await;
        let around = if namespaces { sockets(root) * buffer + inodes(root) * INODE } else { 0 };
        if resident(root) + around > limit {
            return;
        }
    }
}

/// Bytes that belong to no file of the host: private pages, shared memory, and their page tables. Pages shared after a
/// fork count once per process.
fn resident(root: Pid) -> u64 {
    const COUNTED: [&str; 5] = ["RssAnon:", "RssShmem:", "VmSwap:", "HugetlbPages:", "VmPTE:"];
    let mut bytes = 0;
    let mut pending = vec![root.as_raw_pid()];
    while let Some(pid) = pending.pop() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        bytes += COUNTED.iter().map(|name| kilobytes(&status, name) * 1024).sum::<u64>();
        pending.extend(children(pid));
    }
    bytes
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Child processes of all threads of `pid`; none if it has ended.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// Number of sockets in the namespaces, including those that no process has open: waiting to be accepted, or sent in a
/// message. All are unix streams, as the filter rejects others; the data in one comes from a single peer, within the
/// limit of that peer's buffer, which the filter does not let a program raise.
fn sockets(root: Pid) -> u64 {
    let listed = fs::read(format!("/proc/{}/net/unix", root.as_raw_pid())).unwrap_or_default();
    // The first line is the header.
    (listed.iter().filter(|&&byte| byte == b'\n').count() as u64).saturating_sub(1)
}

/// Default limit of unread data that a socket may have sent.
fn sent_by_default() -> u64 {
    const DEFAULT: u64 = 212_992;
    let set = fs::read_to_string("/proc/sys/net/core/wmem_default");
    set.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT)
}

/// Number of files in the namespaces' own file systems. Mounting limits their content, but not their number.
fn inodes(root: Pid) -> u64 {
    let inside = |place| rustix::fs::statvfs(format!("/proc/{}/root/{place}", root.as_raw_pid()));
    let used = ["tmp", "dev/shm"].into_iter().filter_map(|place| inside(place).ok());
    used.map(|system| system.f_files.saturating_sub(system.f_ffree)).sum()
}
