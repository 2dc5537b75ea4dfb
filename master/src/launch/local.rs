//! The local launcher: one agent on this machine with as many slots as the job may have.
//!
//! The agent's standard input is a pipe that this process holds: when the master dies, however it dies, the agent sees
//! the end of the pipe and goes too, so that a resumed run never finds more slots than it allowed.

use crate::stop::raised;
use compass_common::ids::WorkerId;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

/// Agents in a row that ended early, without the run being over, before the launcher gives up.
const RESTARTS: u32 = 10;
/// An agent that lived longer did not end early: whatever ended it, another start makes sense.
const EARLY: Duration = Duration::from_secs(60);
/// What the names of local agents begin with.
const LOCAL: &str = "local-";
const RESTART_PAUSE: Duration = Duration::from_millis(300);
/// How long an agent may take to end when the run is over.
const GRACE: Duration = Duration::from_secs(5);

/// Why no worker can be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(
        "cannot find compass-worker beside compass-master ({beside}) nor on PATH; build it with \
         `cargo build -p compass-worker`, or name it with COMPASS_WORKER"
    )]
    NoBinary { beside: PathBuf },
    #[error("COMPASS_WORKER names {path}, where there is no program; correct it, or unset it")]
    NoSuchWorker { path: PathBuf },
    #[error(
        "model `{model}` asks for `device = \"cuda\"`, but this host shows no NVIDIA GPU; write `device = \"auto\"` or \"cpu\""
    )]
    NoGpu { model: String },
    #[error(
        "model `{cpu}` asks for the cpu and model `{cuda}` for cuda; one job on two devices is not yet supported: \
         run them one after the other with --models"
    )]
    TwoDevices { cpu: String, cuda: String },
    #[error("cannot start {binary}")]
    Start {
        binary: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot write the worker's log {path}")]
    Log {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// The worker's executable: COMPASS_WORKER, or beside this one, or on PATH.
///
/// # Errors
/// [`LaunchError::NoBinary`] when none of these exists.
pub fn find_worker() -> Result<PathBuf, LaunchError> {
    if let Some(path) = std::env::var_os("COMPASS_WORKER") {
        let path = PathBuf::from(path);
        return if path.is_file() { Ok(path) } else { Err(LaunchError::NoSuchWorker { path }) };
    }
    let beside = std::env::current_exe().unwrap_or_default().with_file_name("compass-worker");
    if beside.is_file() {
        return Ok(beside);
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&on_path).map(|folder| folder.join("compass-worker")).find(|path| path.is_file());
    found.ok_or(LaunchError::NoBinary { beside })
}

/// Whether this host shows a GPU: the driver's device files, also those of WSL.
pub fn sees_gpu() -> bool {
    ["/dev/nvidiactl", "/dev/dxg"].iter().any(|path| Path::new(path).exists())
}

/// Whether a worker of this name was launched by a master on its own host, with which it ended.
pub fn is_local(worker: &WorkerId) -> bool {
    worker.0.starts_with(LOCAL)
}

/// What to launch.
#[derive(Clone, Debug)]
pub struct LocalLauncher {
    pub binary: PathBuf,
    /// The master's address as the agent is told it.
    pub master: String,
    pub slots: u32,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// What the agent is told of programs that a model wrote.
    pub programs: Programs,
    /// Where the agent's and its engines' output goes; `None` leaves it on this terminal.
    pub log: Option<PathBuf>,
}

/// Whether a stage runs programs that a model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// It does not: agents need not look for a sandbox.
    None,
    /// It does, where an isolation holds them.
    Contained,
    /// It does, as plain processes where no isolation works.
    Unsafe,
}

/// What the launcher tells the driver.
#[derive(Debug)]
pub enum LaunchEvent {
    /// The agent of this name ended in the middle of the run; another is started.
    Exited { worker: String, status: String },
    /// No agent will be started any more.
    GaveUp { reason: String },
}

impl LocalLauncher {
    /// The name under which the agent reports.
    pub fn worker_name() -> String {
        format!("{LOCAL}{}", std::process::id())
    }

    /// The command line, for `--dry-run` and the log.
    pub fn command_line(&self) -> Vec<String> {
        let slots = self.slots.to_string();
        let name = Self::worker_name();
        let words = ["--master", &self.master, "--device", &self.device, "--slots", &slots, "--name", &name];
        let mut line = vec![self.binary.display().to_string()];
        line.extend(words.iter().map(|word| (*word).to_owned()));
        match self.programs {
            Programs::None => line.push("--no-sandbox".into()),
            Programs::Contained => {}
            Programs::Unsafe => line.push("--unsafe-local-exec".into()),
        }
        line
    }

    fn spawn(&self) -> Result<Child, LaunchError> {
        let line = self.command_line();
        let mut command = Command::new(&self.binary);
        command.args(&line[1..]).arg("--exit-with-parent").stdin(Stdio::piped()).kill_on_drop(true);
        // Its own process group: a Ctrl-C at the terminal is the master's to handle.
        command.process_group(0);
        if let Some(path) = &self.log {
            let (out, err) = log_handles(path)?;
            command.stdout(out).stderr(err);
        }
        command.spawn().map_err(|source| LaunchError::Start { binary: self.binary.clone(), source })
    }

    /// Keeps one agent running until `stop` turns true; then closes the pipe and waits for the agent to end.
    pub async fn run(self, events: mpsc::Sender<LaunchEvent>, mut stop: watch::Receiver<bool>) {
        let mut early_ends = 0;
        while early_ends <= RESTARTS {
            let started = Instant::now();
            let mut child = match self.spawn() {
                Ok(child) => child,
                Err(error) => {
                    let reason = match std::error::Error::source(&error) {
                        Some(source) => format!("{error}: {source}"),
                        None => error.to_string(),
                    };
                    let _ = events.send(LaunchEvent::GaveUp { reason }).await;
                    return;
                }
            };
            // Held apart from the child, because waiting for a child closes its standard input.
            let pipe = child.stdin.take();
            tokio::select! {
                status = child.wait() => {
                    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    let _ = events.send(LaunchEvent::Exited { worker: Self::worker_name(), status }).await;
                    early_ends = if started.elapsed() < EARLY { early_ends + 1 } else { 0 };
                }
                () = raised(&mut stop) => {
                    drop(pipe);
                    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
                        let _ = child.kill().await;
                    }
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(RESTART_PAUSE) => {}
                () = raised(&mut stop) => return,
            }
        }
        let reason = format!("the local agent ended {} times in a row; its log tells why", RESTARTS + 1);
        let _ = events.send(LaunchEvent::GaveUp { reason }).await;
    }
}

fn log_handles(path: &Path) -> Result<(Stdio, Stdio), LaunchError> {
    let failed = |source| LaunchError::Log { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    let twin = file.try_clone().map_err(failed)?;
    Ok((file.into(), twin.into()))
}
