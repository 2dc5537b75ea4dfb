//! The local launcher: agents on this machine, as a rule one with as many slots as the job may have.
//!
//! An agent's standard input is a pipe that this process holds: when the master dies, however it dies, the agent sees
//! the end of the pipe and goes too, so that a resumed run never finds more slots than it allowed.

use super::error::LaunchError;
use super::launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::worker_command::WorkerCommand;
use compass_common::regular_file;
use compass_types::ids::WorkerId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, ChildStdin, Command};

/// Agents in a row that ended early, without the run being over, before the launcher gives up.
const RESTARTS: u32 = 10;
/// Prefix of the names of local agents.
const LOCAL: &str = "local";
const RESTART_PAUSE: Duration = Duration::from_millis(300);
/// Longest time until an agent ends when the run is over.
const GRACE: Duration = Duration::from_secs(5);

/// Returns whether a worker of this name was launched by a master on its own host, with which it ended.
pub fn is_local(worker: &WorkerId) -> bool {
    worker.0.strip_prefix(LOCAL).is_some_and(|rest| rest.starts_with('-'))
}

/// Runs agents on this machine.
pub struct LocalLauncher {
    pub worker: WorkerCommand,
    /// Variables that the agents' environment gets.
    pub environment: Vec<(String, String)>,
    /// Destination of the agents' and their engines' output; `None` leaves it on this terminal.
    pub log: Option<PathBuf>,
    agents: BTreeMap<LauncherJobId, Agent>,
}

struct Agent {
    number: u32,
    child: Child,
    /// Held apart from the child, because waiting for a child closes its standard input.
    pipe: Option<ChildStdin>,
    /// Since when it is to end.
    ending: Option<Instant>,
}

impl LocalLauncher {
    /// A launcher without agents.
    pub fn new(worker: WorkerCommand, environment: Vec<(String, String)>, log: Option<PathBuf>) -> Self {
        Self { worker, environment, log, agents: BTreeMap::new() }
    }

    /// The name under which the agent of this number reports; they count from 0.
    fn worker_name(&self, number: u32) -> String {
        let (pool, pid) = (self.worker.pool.as_deref().unwrap_or(LOCAL), std::process::id());
        match number {
            0 => format!("{pool}-{pid}"),
            number => format!("{pool}-{pid}-{number}"),
        }
    }

    fn spawn(&self, name: &str) -> Result<Child, LaunchError> {
        let line = self.worker.words(Some(name));
        let mut command = Command::new(&self.worker.binary);
        command.args(&line[1..]).arg("--exit-with-parent").stdin(Stdio::piped()).kill_on_drop(true);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Its own process group: a Ctrl-C at the terminal is the master's to handle.
        command.process_group(0);
        if let Some(path) = &self.log {
            let (out, err) = log_handles(path)?;
            command.stdout(out).stderr(err);
        }
        command.spawn().map_err(|source| LaunchError::Start { binary: self.worker.binary.clone(), source })
    }

    fn launch(&mut self) -> Result<Launched, LaunchError> {
        let number = (0..).find(|number| self.agents.values().all(|agent| agent.number != *number)).unwrap_or(0);
        let name = self.worker_name(number);
        let mut child = self.spawn(&name)?;
        let pipe = child.stdin.take();
        let job = LauncherJobId(child.id().unwrap_or_default().to_string());
        self.agents.insert(job.clone(), Agent { number, child, pipe, ending: None });
        Ok(Launched { job, worker: WorkerId(name) })
    }

    fn look(&mut self) -> Vec<(LauncherJobId, JobState)> {
        let mut standings = Vec::with_capacity(self.agents.len());
        for (job, agent) in &mut self.agents {
            if agent.ending.is_some_and(|since| since.elapsed() > GRACE) {
                let _ = agent.child.start_kill();
            }
            let state = match agent.child.try_wait() {
                Ok(None) => JobState::Running,
                Ok(Some(status)) => JobState::Ended(JobOutcome::of_process(status, "the worker")),
                Err(error) => JobState::Ended(JobOutcome::Failed { reason: error.to_string() }),
            };
            standings.push((job.clone(), state));
        }
        let over = standings.iter().filter(|(_, state)| matches!(state, JobState::Ended(_)));
        for (job, _) in over {
            self.agents.remove(job);
        }
        standings
    }
}

impl Launcher for LocalLauncher {
    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async move { (0..jobs).map(|_| self.launch()).collect() })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(async move { Ok(self.look()) })
    }

    /// Closes the pipes; who has not gone soon is killed.
    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async move {
            for job in jobs {
                if let Some(agent) = self.agents.get_mut(&job) {
                    agent.pipe = None;
                    agent.ending.get_or_insert_with(Instant::now);
                }
            }
            Ok(())
        })
    }

    fn log(&self, _job: &LauncherJobId) -> Option<String> {
        self.log.as_ref().map(|path| path.display().to_string())
    }

    fn command_lines(&self, jobs: u32) -> Vec<String> {
        (0..jobs).map(|number| self.worker.shell_line(Some(&self.worker_name(number)))).collect()
    }

    fn policy(&self) -> LauncherPolicy {
        LauncherPolicy {
            poll: Duration::from_millis(100),
            ending: Duration::from_millis(10),
            grace: GRACE * 2,
            failures: RESTARTS + 1,
            pause: RESTART_PAUSE,
            longest_pause: RESTART_PAUSE,
            connect: None,
        }
    }
}

fn log_handles(path: &Path) -> Result<(Stdio, Stdio), LaunchError> {
    let failed = |source| LaunchError::Log { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = regular_file::append(path).map_err(failed)?;
    let twin = file.try_clone().map_err(failed)?;
    Ok((file.into(), twin.into()))
}
