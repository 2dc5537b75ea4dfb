//! The command launcher: a line of shell of the user's for each worker, such as `srun {task_cmd}` or `ssh node7 {task_cmd}`.
//!
//! The line runs as a process group on this host. As a rule its standard input is a pipe that this process holds and that the
//! line passes on to the worker, which then ends when the master does, wherever it runs.

use super::error::LaunchError;
use super::launcher::{JobOutcome, JobState, Launched, Launcher, LauncherJobId, LauncherPolicy, Pending};
use super::worker_command::{WorkerCommand, quoted};
use compass_common::regular_file;
use compass_settings::{CommandConfig, CommandPiece};
use compass_types::ids::WorkerId;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, ChildStdin, Command};

/// Prefix of the variables that the worker itself reads.
const OURS: &str = "COMPASS_";
const SHELL: &str = "/bin/sh";
/// Longest time until a line ends after its pipe was closed, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// The end of a log that is shown, in characters, and that is read for it, in bytes.
const LAST_LINE: usize = 300;
const MOST_OF_LOG: u64 = 64 << 10;

/// Runs a line of shell of the user's for each worker.
pub struct CommandLauncher {
    config: CommandConfig,
    worker: WorkerCommand,
    /// The pool, for the names of workers.
    pool: String,
    /// GPUs of one worker.
    gpus: u32,
    /// Variables that the line's environment gets.
    environment: Vec<(String, String)>,
    /// The folder of logs; `None` leaves the output on this terminal.
    logs: Option<PathBuf>,
    lines: BTreeMap<LauncherJobId, CommandJob>,
}

struct CommandJob {
    number: u32,
    child: Child,
    group: Option<Pid>,
    /// Held apart from the child, because waiting for a child closes its standard input.
    pipe: Option<ChildStdin>,
    /// Since when it is to end.
    ending: Option<Instant>,
    asked: bool,
    log: Option<PathBuf>,
}

impl CommandLauncher {
    /// A launcher without lines.
    pub fn new(
        config: CommandConfig,
        worker: WorkerCommand,
        pool: String,
        gpus: u32,
        environment: Vec<(String, String)>,
        logs: Option<PathBuf>,
    ) -> Self {
        Self { config, worker, pool, gpus, environment, logs, lines: BTreeMap::new() }
    }

    fn name(&self, number: u32) -> String {
        format!("{}-{}-{number}", self.pool, std::process::id())
    }

    /// The template with its places filled in.
    fn line(&self, name: &str) -> String {
        // The worker's own settings, such as where its token lies, hold no secret: on the line they arrive through ssh too.
        let ours = self.environment.iter().filter(|(name, value)| name.starts_with(OURS) && !value.is_empty());
        let ours: Vec<String> = ours.map(|(name, value)| quoted(&format!("{name}={value}"))).collect();
        let prefix = if ours.is_empty() { String::new() } else { format!("env {} ", ours.join(" ")) };
        let mut task = prefix + &self.worker.shell_line(Some(name));
        if self.config.pipe {
            task.push_str(" --exit-with-parent");
        }
        let filled = self.config.pieces.iter().map(|piece| match piece {
            CommandPiece::Shell(text) => text.clone(),
            CommandPiece::TaskCommand => task.clone(),
            CommandPiece::TaskWord => quoted(&task),
            CommandPiece::Gpus => self.gpus.to_string(),
            CommandPiece::Name => quoted(name),
        });
        filled.collect()
    }

    fn launch(&mut self) -> Result<Launched, LaunchError> {
        let number = (0..).find(|number| self.lines.values().all(|line| line.number != *number)).unwrap_or(0);
        let name = self.name(number);
        let log = self.logs.as_ref().map(|logs| logs.join(format!("{}-{number}.log", self.pool)));
        let mut command = Command::new(SHELL);
        command.arg("-c").arg(self.line(&name)).kill_on_drop(true);
        command.stdin(if self.config.pipe { Stdio::piped() } else { Stdio::null() });
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Its own process group: a Ctrl-C at the terminal is the master's to handle.
        command.process_group(0);
        if let Some(path) = &log {
            let failed = |source| LaunchError::Log { path: path.clone(), source };
            let file = open_log(path).map_err(failed)?;
            command.stderr(file.try_clone().map_err(failed)?).stdout(file);
        }
        let child = command.spawn();
        let mut child = child.map_err(|source| LaunchError::Start { binary: SHELL.into(), source })?;
        let (id, pipe) = (child.id().unwrap_or_default(), child.stdin.take());
        let group = i32::try_from(id).ok().and_then(Pid::from_raw);
        let job = LauncherJobId(id.to_string());
        self.lines.insert(job.clone(), CommandJob { number, child, group, pipe, ending: None, asked: false, log });
        Ok(Launched { job, worker: WorkerId(name) })
    }

    fn look(&mut self) -> Vec<(LauncherJobId, JobState)> {
        let mut standings = Vec::with_capacity(self.lines.len());
        for (job, line) in &mut self.lines {
            line.urge();
            let state = match line.child.try_wait() {
                Ok(None) => JobState::Running,
                Ok(Some(status)) => JobState::Ended(line.outcome(status)),
                Err(error) => JobState::Ended(JobOutcome::Failed { reason: error.to_string() }),
            };
            standings.push((job.clone(), state));
        }
        for (job, state) in &standings {
            if matches!(state, JobState::Ended(_))
                && let Some(line) = self.lines.remove(job)
            {
                // What the line left in the background goes with it.
                line.signal(Signal::KILL);
            }
        }
        standings
    }
}

impl CommandJob {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone is as good as one that was told.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Asks it to end, more firmly with time.
    fn urge(&mut self) {
        let Some(since) = self.ending else { return };
        let had_pipe = self.pipe.take().is_some();
        let late = if had_pipe { Duration::ZERO } else { since.elapsed() };
        if !self.asked && late >= GRACE {
            self.asked = true;
            self.signal(Signal::TERM);
        } else if late >= GRACE * 2 {
            self.signal(Signal::KILL);
        }
    }

    fn outcome(&self, status: ExitStatus) -> JobOutcome {
        if self.ending.is_some() {
            return JobOutcome::Done;
        }
        let last = self.log.as_ref().and_then(|path| last_line(path));
        let said = last.map(|line| format!("; its last line is: {line}")).unwrap_or_default();
        match JobOutcome::of_process(status, "the command") {
            JobOutcome::Failed { reason } => JobOutcome::Failed { reason: format!("{reason}{said}") },
            outcome => outcome,
        }
    }
}

fn open_log(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    regular_file::append(path)
}

fn last_line(path: &Path) -> Option<String> {
    let bytes = regular_file::read_end(path, MOST_OF_LOG).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(LAST_LINE).collect())
}

impl Launcher for CommandLauncher {
    fn submit(&mut self, jobs: u32) -> Pending<'_, Result<Vec<Launched>, LaunchError>> {
        Box::pin(async move { (0..jobs).map(|_| self.launch()).collect() })
    }

    fn poll(&mut self) -> Pending<'_, Result<Vec<(LauncherJobId, JobState)>, LaunchError>> {
        Box::pin(async move { Ok(self.look()) })
    }

    /// Closes the pipe, or asks the line's processes to end where there is none.
    fn cancel(&mut self, jobs: Vec<LauncherJobId>) -> Pending<'_, Result<(), LaunchError>> {
        Box::pin(async move {
            for job in jobs {
                let Some(line) = self.lines.get_mut(&job) else { continue };
                if line.ending.is_some() {
                    continue;
                }
                line.ending = Some(Instant::now());
                if line.pipe.take().is_none() {
                    line.asked = true;
                    line.signal(Signal::TERM);
                }
            }
            Ok(())
        })
    }

    fn log(&self, job: &LauncherJobId) -> Option<String> {
        self.lines.get(job)?.log.as_ref().map(|path| path.display().to_string())
    }

    fn command_lines(&self, jobs: u32) -> Vec<String> {
        (0..jobs).map(|number| self.line(&self.name(number))).collect()
    }

    fn emergency_cleanup(&self, _jobs: &[LauncherJobId]) -> Option<Vec<String>> {
        // A pipe says it by itself.
        let groups = self.lines.values().filter(|line| line.pipe.is_none()).filter_map(|line| line.group);
        let groups: Vec<String> = groups.map(|group| format!("-{}", group.as_raw_nonzero())).collect();
        // As every shell has it: some take no `--` here.
        let script = format!("kill -TERM {}", groups.join(" "));
        (!groups.is_empty()).then(|| vec![SHELL.into(), "-c".into(), script])
    }

    fn policy(&self) -> LauncherPolicy {
        LauncherPolicy {
            poll: Duration::from_millis(250),
            ending: Duration::from_millis(20),
            grace: GRACE * 4,
            failures: 6,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
            // The line may wait in a queue for as long as it likes.
            connect: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::worker_command::{MasterAddresses, Programs};
    use super::*;
    use proptest::prelude::*;

    fn launcher(pieces: Vec<CommandPiece>, binary: &str) -> CommandLauncher {
        let worker = WorkerCommand {
            binary: binary.into(),
            master: MasterAddresses::alone("head:1"),
            slots: 1,
            device: "cpu".into(),
            programs: Programs::None,
            pool: None,
        };
        CommandLauncher::new(CommandConfig { pieces, pipe: false }, worker, "p".into(), 2, Vec::new(), None)
    }

    fn shell(text: &str) -> CommandPiece {
        CommandPiece::Shell(text.into())
    }

    #[test]
    fn the_places_of_a_template_are_filled() {
        let all = vec![
            shell("run -g "),
            CommandPiece::Gpus,
            shell(" -n "),
            CommandPiece::Name,
            shell(" -- "),
            CommandPiece::TaskCommand,
        ];
        let line = launcher(all, "/opt/worker").line("p-1-0");
        let task = "/opt/worker --master head:1 --device cpu --slots 1 --name p-1-0 --no-sandbox";
        assert_eq!(line, format!("run -g 2 -n p-1-0 -- {task}"));
        let piped = CommandLauncher {
            config: CommandConfig { pieces: vec![shell("ssh n "), CommandPiece::TaskWord], pipe: true },
            ..launcher(Vec::new(), "/opt/worker")
        };
        assert_eq!(piped.line("p-1-0"), format!("ssh n '{task} --exit-with-parent'"));
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment =
            vec![variable("COMPASS_TOKEN_FILE", "/a b"), variable("KEY", "secret"), variable("COMPASS_X", "")];
        let told = CommandLauncher { environment, ..launcher(vec![CommandPiece::TaskCommand], "/opt/worker") };
        assert_eq!(told.line("p-1-0"), format!("env 'COMPASS_TOKEN_FILE=/a b' {task}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn hostile_words_arrive_through_one_shell_and_through_two(folder in "[^\u{0}/]{1,12}", name in "[^\u{0}]{1,12}") {
            // A program that prints its words; its path is hostile itself.
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(format!("d{folder}"));
            std::fs::create_dir(&path).unwrap();
            let program = path.join("printer");
            std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\n").unwrap();
            std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            for pieces in [vec![CommandPiece::TaskCommand], vec![shell("sh -c "), CommandPiece::TaskWord]] {
                let mut launcher = launcher(pieces, program.to_str().unwrap());
                launcher.worker.device.clone_from(&name);
                let line = launcher.line(&name);
                let output = std::process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
                let words = ["--master", "head:1", "--device", &name, "--slots", "1", "--name", &name, "--no-sandbox"];
                let expected: String = words.iter().map(|word| format!("{word}|")).collect();
                prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
            }
        }
    }
}
