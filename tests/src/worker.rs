//! Workers that are started by hand, as a user would, with a home of their own.

use crate::job::Job;
use crate::processes::{program, wait_until};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A worker that runs; killed when dropped.
pub struct Worker {
    process: Child,
    log: PathBuf,
}

/// Command line of a worker that has faults where its environment asks for them, ready to be started: it knows no proxy, no token
/// and no home but the one that is given.
pub fn worker_command(master: &str, home: &Path) -> Command {
    let mut command = Command::new(program("worker-with-faults"));
    command.args(["--master", master, "--device", "cpu"]).env("HOME", home).stdin(Stdio::null());
    for name in ["COMPASS_TOKEN_FILE", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    command
}

impl Worker {
    /// Starts it; its output goes to `log`.
    pub fn start(mut command: Command, log: PathBuf) -> Self {
        let file = File::create(&log).unwrap_or_else(|error| unreachable!("cannot write {}: {error}", log.display()));
        let process = command.stdout(Stdio::null()).stderr(file).spawn();
        let process = process.unwrap_or_else(|error| unreachable!("cannot start a worker: {error}"));
        Self { process, log }
    }

    /// Returns its output by now.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for its end: exit code, and output.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let status = wait_until("the worker ends", || self.process.try_wait().ok().flatten());
        (status.code(), self.said())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the address at which workers find the master whose standard error goes to `log` of the job, as the master says.
pub fn told_address(job: &Job, log: &str) -> String {
    wait_until("the master says where it listens", || {
        let text = job.log(log);
        let line = text.lines().find_map(|line| line.split_once("compass-worker --master "))?;
        Some(line.1.split_whitespace().next()?.to_owned())
    })
}
