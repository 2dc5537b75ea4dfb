//! A Slurm of this machine alone: real daemons, several nodes, fake GPUs. See `lab/slurm.sh`.

use crate::wait_until;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

/// Slurm of this machine alone. It ends with its jobs when it is dropped.
pub struct Slurm {
    folder: tempfile::TempDir,
    /// For the controller and every node.
    ports: String,
}

/// A job, or a task of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// As `squeue` prints it: `17_3`.
    pub id: String,
    pub state: String,
    pub nodes: String,
    pub gpus: u32,
    pub restarts: u64,
    pub comment: String,
}

/// Looks at the queue all the time, and remembers the most that was ever seen.
pub struct QueueWatch {
    stop: Arc<AtomicBool>,
    looks: Arc<AtomicU32>,
    /// Returns the most GPUs.
    thread: JoinHandle<u32>,
}

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("lab/slurm.sh")
}

impl Slurm {
    /// Starts one; says loudly that `test` is skipped where that cannot be.
    pub fn start(test: &str, nodes: u32, gpus: u32) -> Option<Self> {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
        let missing = ["slurmctld", "slurmd", "squeue", "munged"].into_iter().find(|program| !is_installed(program));
        if let Some(program) = missing {
            let install = "apt-get install slurmctld slurmd slurm-client munge";
            compass_needs::skipped(compass_needs::Need::Slurm, format_args!("{test} needs {program} ({install})"));
            return None;
        }
        if !is_root {
            compass_needs::skipped(
                compass_needs::Need::Slurm,
                format_args!("{test} starts a Slurm of its own, which only root may"),
            );
            return None;
        }
        let folder = tempfile::Builder::new().prefix("slurm").tempdir();
        let folder = folder.unwrap_or_else(|error| unreachable!("no temporary folder: {error}"));
        let ports: Vec<String> = (0..=nodes).map(|_| crate::free_port().to_string()).collect();
        let slurm = Self { folder, ports: ports.join(" ") };
        let up = slurm.lab(&["up", &slurm.path(), &nodes.to_string(), &gpus.to_string()]);
        assert!(up.status.success(), "no Slurm: {}", String::from_utf8_lossy(&up.stderr));
        Some(slurm)
    }

    fn path(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// Returns the value for SLURM_CONF.
    pub fn conf(&self) -> String {
        self.folder.path().join("slurm.conf").display().to_string()
    }

    fn lab(&self, arguments: &[&str]) -> Output {
        let log = self.folder.path().join("lab.log");
        // Daemons keep what they inherit: a pipe would never end.
        let file = || std::fs::File::options().create(true).append(true).open(&log);
        let mut command = Command::new("bash");
        command.arg(script()).args(arguments).stdin(std::process::Stdio::null()).env("LAB_PORTS", &self.ports);
        if let (Ok(out), Ok(err)) = (file(), file()) {
            command.stdout(out).stderr(err);
        }
        let status = command.status().unwrap_or_else(|error| unreachable!("no bash: {error}"));
        Output { status, stdout: Vec::new(), stderr: std::fs::read(&log).unwrap_or_default() }
    }

    /// Runs a command of Slurm that has to succeed; what it printed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("SLURM_CONF", self.conf()).output();
        let output = output.unwrap_or_else(|error| unreachable!("cannot run {program}: {error}"));
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program} {arguments:?}: {out}{err}");
        out.trim().to_owned()
    }

    /// Jobs that wait, run or have just ended.
    pub fn jobs(&self) -> Vec<SlurmJob> {
        let answer: Value = serde_json::from_str(&self.run("squeue", &["--json"])).unwrap_or_default();
        answer["jobs"].as_array().into_iter().flatten().flat_map(job).collect()
    }

    /// Returns the jobs that a master launched.
    pub fn ours(&self) -> Vec<SlurmJob> {
        self.jobs().into_iter().filter(|job| job.comment.starts_with("compass ")).collect()
    }

    /// Returns the jobs of a master that run.
    pub fn running(&self) -> Vec<SlurmJob> {
        self.ours().into_iter().filter(|job| job.state == "RUNNING").collect()
    }

    /// Fails unless nothing of ours waits or runs.
    pub fn assert_empty(&self) {
        let left: Vec<_> = self.ours().into_iter().filter(SlurmJob::is_live).collect();
        assert!(left.is_empty(), "left in the queue: {left:?}");
    }

    /// Ends a node as a power cut would, and tells the controller.
    pub fn kill_node(&self, node: &str) {
        assert!(self.lab(&["kill-node", &self.path(), node]).status.success());
        self.run("scontrol", &["update", &format!("nodename={node}"), "state=down", "reason=test"]);
    }

    /// Brings it back.
    pub fn start_node(&self, node: &str) {
        assert!(self.lab(&["start-node", &self.path(), node]).status.success());
        self.run("scontrol", &["update", &format!("nodename={node}"), "state=resume"]);
    }

    /// Ends munged: no user can be authenticated any more.
    pub fn kill_munge(&self) {
        let pid = std::fs::read_to_string(self.folder.path().join("munge/munged.pid")).unwrap_or_default();
        let pid = pid.trim().parse().unwrap_or_else(|_| unreachable!("munged has no pid file"));
        crate::kill(pid, "TERM");
        wait_until("munged has ended", || (!crate::is_alive(pid)).then_some(()));
    }

    /// Watches the queue until it is stopped.
    pub fn watch(&self) -> QueueWatch {
        let (stop, looks, conf) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)), self.conf());
        let (stopped, looked) = (stop.clone(), looks.clone());
        let thread = std::thread::spawn(move || {
            let mut most = 0;
            while !stopped.load(Ordering::SeqCst) {
                let output = Command::new("squeue").arg("--json").env("SLURM_CONF", &conf).output();
                let answer = output.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
                let Some(answer) = answer else { continue };
                let jobs = answer["jobs"].as_array().into_iter().flatten().flat_map(job);
                let live = jobs.filter(|job| job.comment.starts_with("compass ") && job.is_live());
                most = live.map(|job| job.gpus).sum::<u32>().max(most);
                looked.fetch_add(1, Ordering::SeqCst);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "spares the controller; nothing waits for a number of looks"
                )]
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            most
        });
        QueueWatch { stop, looks, thread }
    }
}

impl QueueWatch {
    /// Waits until the queue has been looked at as it is from now on.
    pub fn look(&self) {
        // One look may have begun before.
        let before = self.looks.load(Ordering::SeqCst);
        wait_until("the queue is looked at", || (self.looks.load(Ordering::SeqCst) >= before + 2).then_some(()));
    }

    /// The most GPUs that jobs of ours held or waited for at once.
    pub fn finish(self) -> u32 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or_default()
    }
}

impl SlurmJob {
    /// Returns whether it waits or runs.
    pub fn is_live(&self) -> bool {
        ["PENDING", "RUNNING", "COMPLETING", "CONFIGURING"].contains(&self.state.as_str())
    }
}

/// The entries of one element of `squeue --json`; tasks of an array that wait are one.
fn job(value: &Value) -> Vec<SlurmJob> {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let array = value["array_job_id"].as_u64().filter(|array| *array > 0);
    let tasks: Vec<String> = match (array, value["array_task_id"].as_u64()) {
        (None, _) => vec![value["job_id"].to_string()],
        (Some(array), Some(task)) => vec![format!("{array}_{task}")],
        (Some(array), None) => {
            let waiting = text("array_task_string");
            waiting.split(',').flat_map(tasks_of).map(|task| format!("{array}_{task}")).collect()
        }
    };
    let gpus = text("tres_per_node").rsplit(':').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let entry = |id| SlurmJob {
        id,
        state: text("job_state"),
        nodes: text("nodes"),
        gpus,
        restarts: value["restart_cnt"].as_u64().unwrap_or(0),
        comment: text("comment"),
    };
    tasks.into_iter().map(entry).collect()
}

fn tasks_of(range: &str) -> Vec<u64> {
    let range = range.split('%').next().unwrap_or_default();
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (first.parse(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) => (first..=last).collect(),
        _ => Vec::new(),
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    folders.map(|folder| folder.join(program)).any(|file| Path::new(&file).is_file())
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.lab(&["down", &self.path()]);
    }
}
