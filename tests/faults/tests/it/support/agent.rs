//! The real executable, and its children in `/proc`.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A running agent; killed when dropped.
pub(crate) struct Agent(pub(crate) Child);

impl Agent {
    pub(crate) fn start(master: &str, flags: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_worker-with-faults"));
        command.args(["--master", master, "--device", "cpu", "--plain-loopback"]).args(flags).envs(env.iter().copied());
        Self(command.stdin(Stdio::piped()).spawn().unwrap())
    }

    /// Starts an agent with its stderr in a file.
    pub(crate) fn start_logged(master: &str, flags: &[&str], env: &[(&str, &str)], log: &std::path::Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_worker-with-faults"));
        command.args(["--master", master, "--device", "cpu", "--plain-loopback"]).args(flags).envs(env.iter().copied());
        let log = std::fs::File::create(log).unwrap();
        Self(command.stdin(Stdio::piped()).stderr(log).spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        kill(self.pid(), signal);
    }

    /// Waits for its exit.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        eventually("the agent exits", || self.0.try_wait().unwrap()).await
    }
}

/// Polls until `found` gives something; the limit only turns a hang into a failure.
pub(crate) async fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..6000 {
        if let Some(found) = found() {
            return found;
        }
        #[expect(clippy::disallowed_methods, reason = "polls /proc and files; what it waits for is a condition")]
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("gave up waiting until {what}");
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It may have exited already.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Process ids of the running children of `parent`.
pub(crate) fn children_of(parent: i32) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|&pid| status_of(pid).is_some_and(|(state, ppid)| ppid == parent && state != 'Z')).collect()
}

/// Returns whether the process exists and is not a zombie.
pub(crate) fn is_running(pid: i32) -> bool {
    status_of(pid).is_some_and(|(state, _)| state != 'Z')
}

fn status_of(pid: i32) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
