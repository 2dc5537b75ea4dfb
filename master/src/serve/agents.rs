//! The server's own workers on this host: an agent for each slot, so that a slot is what jobs share.

use super::lobby::Lobby;
use crate::launch::{LaunchError, LocalLauncher, find_worker};
use crate::stop::raised;
use compass_common::ids::WorkerId;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// An agent that ended sooner than this is started again only after a pause, which doubles.
const EARLY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long an agent may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(super) struct Agents {
    pub(super) slots: u32,
    binary: PathBuf,
    master: SocketAddr,
    log: PathBuf,
    /// Why the latest start of an agent came to nothing.
    trouble: Mutex<Option<String>>,
}

impl Agents {
    /// So many agents, which are not started yet.
    ///
    /// # Errors
    /// There is no worker to start.
    pub(super) fn new(slots: u32, master: SocketAddr, log: PathBuf) -> Result<Self, LaunchError> {
        Ok(Self { slots, binary: find_worker()?, master, log, trouble: Mutex::default() })
    }

    /// What a person should know of agents that do not start.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn name(number: u32) -> String {
        format!("{}-{number}", LocalLauncher::worker_name())
    }

    fn spawn(&self, number: u32) -> std::io::Result<Child> {
        if let Some(folder) = self.log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.binary);
        command.arg("--master").arg(self.master.to_string()).args(["--slots", "1", "--exit-with-parent", "--name"]);
        command.arg(Self::name(number)).stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        // Its own process group: a Ctrl-C at the terminal is the server's to handle.
        command.process_group(0).spawn()
    }

    /// Keeps the agents running until `stop` turns true; then lets them end.
    pub(super) async fn run(self: Arc<Self>, lobby: Arc<Lobby>, stop: watch::Receiver<bool>) {
        let mut agents = JoinSet::new();
        for number in 0..self.slots {
            agents.spawn(self.clone().keep(number, lobby.clone(), stop.clone()));
        }
        while agents.join_next().await.is_some() {}
    }

    async fn keep(self: Arc<Self>, number: u32, lobby: Arc<Lobby>, mut stop: watch::Receiver<bool>) {
        let mut pause = PAUSE;
        loop {
            let started = Instant::now();
            let ended = match self.spawn(number) {
                Ok(mut child) => {
                    // Held apart from the child, because waiting for a child closes its standard input.
                    let pipe = child.stdin.take();
                    tokio::select! {
                        status = child.wait() => status.map_or_else(|error| error.to_string(), |status| status.to_string()),
                        () = raised(&mut stop) => {
                            drop(pipe);
                            if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
                                let _ = child.kill().await;
                            }
                            return;
                        }
                    }
                }
                Err(error) => format!("cannot start {}: {error}", self.binary.display()),
            };
            lobby.exited(WorkerId(Self::name(number))).await;
            tracing::warn!(worker = Self::name(number), ended, "a worker process ended");
            let early = started.elapsed() < EARLY;
            let log = self.log.display();
            let trouble = early.then(|| format!("worker {} ended early ({ended}); see {log}", Self::name(number)));
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = raised(&mut stop) => return,
            }
            pause = if early { (pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
        }
    }
}
