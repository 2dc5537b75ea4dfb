//! A job in a folder of its own, and its master.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a condition.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A folder with a configuration and its rows.
pub(super) struct Job {
    folder: tempfile::TempDir,
    delay_ms: String,
}

/// A master; killed when dropped.
pub(super) struct Running(Child);

impl Job {
    pub(super) fn new(toml: &str, rows: &str, delay_ms: &str) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("eval.toml"), toml)?;
        fs::write(folder.path().join("rows.jsonl"), rows)?;
        Ok(Self { folder, delay_ms: delay_ms.to_owned() })
    }

    /// Starts a master of the programs in `COMPASS_PROGRAMS`; its output goes to a file.
    pub(super) fn start(&self, arguments: &[&str]) -> io::Result<Running> {
        let programs = PathBuf::from(std::env::var_os("COMPASS_PROGRAMS").unwrap_or_else(|| "target/debug".into()));
        let programs = programs.canonicalize()?;
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("master.log"))?;
        let mut command = Command::new(programs.join("compass-master"));
        command.current_dir(self.folder.path()).args(arguments).env("COMPASS_WORKER", programs.join("compass-worker"));
        command.env("COMPASS_FAULT_DELAY_MS", &self.delay_ms).env("HF_HUB_OFFLINE", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().map(Running)
    }
}

impl Running {
    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }

    /// Its exit code, once it has ended.
    pub(super) fn wait(&mut self) -> io::Result<Option<i32>> {
        Ok(self.0.wait()?.code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `condition` gives something.
pub(super) fn wait_until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begin.elapsed() < TIMEOUT, "gave up waiting until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port of loopback that is free now.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0");
    listener.and_then(|listener| listener.local_addr()).map_or(0, |address| address.port())
}
