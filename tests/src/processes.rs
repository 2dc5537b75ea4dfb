//! Processes: where the programs are, which children they have, how to kill them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest wait for a condition; reaching it is a failure, so it can be generous.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A program of this build.
pub fn program(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().unwrap_or_default();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not built: run `cargo build --workspace` first", path.display());
    path
}

/// Waits until `condition` gives something.
pub fn wait_until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begin.elapsed() < TIMEOUT, "gave up waiting until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal by name, e.g. `KILL`.
pub fn kill(pid: u32, signal: &str) {
    // The shell's own: a bare Debian has no kill program.
    let status = std::process::Command::new("bash").arg("-c").arg(format!("kill -{signal} {pid}")).status();
    assert!(status.is_ok_and(|status| status.success()), "kill -{signal} {pid}");
}

/// State and parent of a process, as /proc tells them.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Returns whether a process runs; a zombie does not.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Living children of a process.
pub fn children_of(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&child| stat(child).is_some_and(|(state, parent)| parent == pid && state != 'Z')).collect()
}
