//! How much memory a program holds in all that it made: processes, sockets, files. Limits bound one process each; many
//! together could still fill the machine. What cannot be counted from outside (shared pages that nobody has mapped, the
//! buffers of TCP) the filter of system calls refuses.

use rustix::process::Pid;
use std::fs;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(20);
/// What a line of `/proc/PID/net/unix` may hold beyond the bound of its buffer: a last piece begins below it.
const LAST_PIECE: u64 = 64 << 10;
/// What the kernel says a file in memory costs beside its content (`BOGO_INODE_SIZE`).
const INODE: u64 = 1 << 10;

/// Returns once `root` and its descendants together hold more than `limit` bytes. `room`: `root` has namespaces of its own,
/// whose sockets and files count too.
pub(crate) async fn exceeds(root: Pid, room: bool, limit: u64) {
    let buffer = sent_by_default() + LAST_PIECE;
    loop {
        tokio::time::sleep(PERIOD).await;
        let around = if room { sockets(root) * buffer + inodes(root) * INODE } else { 0 };
        if resident(root) + around > limit {
            return;
        }
    }
}

/// Bytes that belong to no file of the host's: private pages wherever they are, shared memory, and the tables of them all.
/// Pages shared after a fork count for each.
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

/// Every thread may have children of its own. A process that ends meanwhile has none.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// Sockets of the room, among them those that no process has open: waiting to be accepted, or on their way in a message.
/// All are streams of the family unix, for the filter refuses others; so what lies in one was sent by one other alone, within
/// the bound of that one's buffer, which the filter does not let be raised.
fn sockets(root: Pid) -> u64 {
    let listed = fs::read(format!("/proc/{}/net/unix", root.as_raw_pid())).unwrap_or_default();
    // The first line names the columns.
    (listed.iter().filter(|&&byte| byte == b'\n').count() as u64).saturating_sub(1)
}

/// How much a socket may have sent that nobody has read yet.
fn sent_by_default() -> u64 {
    const USUAL: u64 = 212_992;
    let set = fs::read_to_string("/proc/sys/net/core/wmem_default");
    set.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(USUAL)
}

/// Files in the room's own file systems. Their content is bounded when these are made, their number is not.
fn inodes(root: Pid) -> u64 {
    let inside = |place| rustix::fs::statvfs(format!("/proc/{}/root/{place}", root.as_raw_pid()));
    let used = ["tmp", "dev/shm"].into_iter().filter_map(|place| inside(place).ok());
    used.map(|system| system.f_files.saturating_sub(system.f_ffree)).sum()
}
