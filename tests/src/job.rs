//! A job in a folder of its own: configuration, data, state, run folders.

use crate::gate::{GATE_VARIABLE, Gate};
use crate::processes::{kill, program, wait_until};
use compass_ledger::{Kind, read_segment};
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A temporary folder with an `eval.toml`; everything that the job writes stays in it.
pub struct Job {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

/// A command line of the master's.
pub struct CommandLine(Command);

impl CommandLine {
    /// Runs it to its end.
    pub fn run(mut self) -> Finished {
        let child = self.0.spawn();
        Running { child: child.unwrap_or_else(|error| unreachable!("cannot start a master: {error}")) }.finish()
    }

    /// Starts it with its standard error at the end of a file, and its standard output to be read.
    pub fn spawn_watched(mut self, log: &Path) -> Running {
        let file = fs::File::options().create(true).append(true).open(log);
        let file = file.unwrap_or_else(|error| unreachable!("cannot write {}: {error}", log.display()));
        let child = self.0.stderr(Stdio::from(file)).spawn();
        Running { child: child.unwrap_or_else(|error| unreachable!("cannot start a master: {error}")) }
    }

    /// Starts it with its standard error at the end of a file.
    pub fn spawn_logged(mut self, log: &Path) -> Running {
        let file = fs::File::options().create(true).append(true).open(log);
        let file = file.unwrap_or_else(|error| unreachable!("cannot write {}: {error}", log.display()));
        let child = self.0.stdout(Stdio::null()).stderr(Stdio::from(file)).spawn();
        Running { child: child.unwrap_or_else(|error| unreachable!("cannot start a master: {error}")) }
    }
}

/// A master that runs; killed when dropped, so that a test that fails leaves none behind. Its agents end with it.
pub struct Running {
    child: Child,
}

/// A master that ended.
#[derive(Debug, Default)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Job {
    /// A job whose configuration is `toml` with `work_dir` and `state_dir` put in front.
    pub fn new(toml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| unreachable!("no temporary folder: {error}"));
        let job = Self { folder, environment: Vec::new() };
        job.configure(toml);
        job
    }

    /// Replaces the configuration.
    pub fn configure(&self, toml: &str) {
        let state = self.path("state");
        let head = format!("work_dir = \"out\"\n{}\n[master]\nstate_dir = \"{}\"\n", top(toml), state.display());
        self.write("eval.toml", &format!("{head}{}", rest(toml)));
    }

    /// A path within the job's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the job's folder.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        let made = fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).and_then(|()| fs::write(&path, content));
        assert!(made.is_ok(), "cannot write {}: {made:?}", path.display());
    }

    /// Writes a file with a secret, which only its owner may read.
    pub fn write_private(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(name, content);
        let closed = fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600));
        assert!(closed.is_ok(), "cannot close {name}: {closed:?}");
    }

    /// Sets an environment variable for what is started from now on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.environment.push((name.into(), value.into()));
    }

    /// Has the job's engines stop once `samples` have begun, until the gate admits more. Workers that are started by hand learn of
    /// it from [`Job::environment`].
    pub fn hold_after(&mut self, samples: u64) {
        let path = self.gate().path().display().to_string();
        self.gate().admit(samples);
        self.set_env(GATE_VARIABLE, &path);
    }

    /// The gate of the job's engines; open unless [`Job::hold_after`] closed it.
    pub fn gate(&self) -> Gate {
        Gate::at(self.path("gate"))
    }

    /// Variables that [`Job::set_env`] has set, for programs that the test starts itself.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The master's command line, ready to be started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of("eval.toml", arguments)
    }

    /// The same for another configuration file of the folder.
    pub fn command_of(&self, config: &str, arguments: &[&str]) -> Command {
        self.words(&[&["--config", config], arguments].concat())
    }

    /// Any command line of the master's, ready to be started in the folder.
    pub fn command_line(&self, words: &[&str]) -> CommandLine {
        CommandLine(self.words(words))
    }

    fn words(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("compass-master"));
        command.current_dir(self.folder.path()).args(words);
        command.env("COMPASS_WORKER", program("worker-with-faults")).env_remove("COMPASS_DATA_CACHE");
        // No test asks the hub itself; tests with a mirror set another value.
        command.env("HF_HUB_OFFLINE", "1");
        // Where it leaves its join token: workers by hand find it there.
        command.env("HOME", self.path("home"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a master.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let child = self.command(arguments).spawn();
        Running { child: child.unwrap_or_else(|error| unreachable!("cannot start a master: {error}")) }
    }

    /// Starts a master whose standard error goes to the file `log` of the job's folder.
    pub fn start_logged(&self, arguments: &[&str], log: &str) -> Running {
        let file = fs::File::create(self.path(log));
        let file = file.unwrap_or_else(|error| unreachable!("cannot write {log}: {error}"));
        let child = self.command(arguments).stderr(Stdio::from(file)).spawn();
        Running { child: child.unwrap_or_else(|error| unreachable!("cannot start a master: {error}")) }
    }

    /// Returns the current content of the file.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a master to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// The run folders, oldest first.
    pub fn runs(&self) -> Vec<PathBuf> {
        runs_in(&self.path("out"))
    }

    /// The latest run folder.
    pub fn latest(&self) -> PathBuf {
        wait_until("a run folder exists", || self.runs().pop())
    }

    /// Bytes in the ledger of the latest run.
    pub fn ledger_bytes(&self) -> u64 {
        let entries = self.runs().pop().map(|run| fs::read_dir(run.join("ledger")));
        let files = entries.into_iter().flatten().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum()
    }

    /// Results in the ledger of the latest run, durable or not.
    pub fn results_written(&self) -> usize {
        self.runs().pop().map_or(0, |run| results_in(&run))
    }

    /// Waits until all samples that the gate admits are durable in the latest run, and lets one more begin for it; without a gate,
    /// until one is. The bytes of a group alone prove nothing: it is durable once the store has recorded their length, which comes
    /// before the next group is appended.
    pub fn wait_until_durable(&self) {
        let (gate, admitted) = (self.gate(), self.gate().admitted());
        let expected = admitted.unwrap_or(1);
        wait_until("results are appended", || (self.results_written() as u64 >= expected).then_some(()));
        let appended = self.ledger_bytes();
        if admitted.is_some() {
            gate.admit_more(1);
        }
        wait_until("results are durable", || (self.ledger_bytes() > appended).then_some(()));
    }

    /// Lets samples begin one by one, each once the last one's result is in the ledger, until `condition` holds: what was told to
    /// end finishes what it has begun, and no more of the job than that goes by meanwhile.
    pub fn trickle_until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let mut written = self.results_written();
        self.gate().admit_more(1);
        wait_until(what, || {
            if condition() {
                return Some(());
            }
            let now = self.results_written();
            if now > written {
                written = now;
                self.gate().admit_more(1);
            }
            None
        });
    }

    /// Waits until the master counts on a worker no more: its lease is over, and what it held is others'.
    pub fn wait_until_lost(&self, worker: &str) {
        wait_until("the worker's lease is over", || {
            let asked = self.command_line(&["explain", "worker", worker, "--config", "eval.toml"]).run();
            asked.stdout.contains("is with no job now").then_some(())
        });
    }

    /// Every file below `name` (e.g. `results`) of the latest run, with its bytes.
    pub fn tree(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        tree_of(&self.latest().join(name))
    }

    /// `logs/run.json` of the latest run.
    pub fn facts(&self) -> serde_json::Value {
        let bytes = fs::read(self.latest().join("logs/run.json")).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// One results file of the latest run.
    pub fn result(&self, model: &str, dataset: &str) -> serde_json::Value {
        let path = self.latest().join("results").join(model).join(format!("{dataset}.json"));
        let bytes = fs::read(&path);
        assert!(bytes.is_ok(), "{} is missing", path.display());
        serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
    }

    /// One predictions file of the latest run.
    pub fn predictions(&self, model: &str, dataset: &str) -> serde_json::Value {
        let path = self.latest().join("predictions").join(model).join(format!("{dataset}.json"));
        let bytes = fs::read(&path);
        assert!(bytes.is_ok(), "{} is missing", path.display());
        serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default()
    }
}

/// Whatever a test is about, no run of it may have broken a rule of the scheduler.
impl Drop for Job {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for run in self.runs() {
            let facts = fs::read(run.join("logs/run.json")).unwrap_or_default();
            // One that was killed has none, and one of a test on damage may be anything.
            if let Ok(serde_json::Value::Object(facts)) = serde_json::from_slice(&facts) {
                let violations = facts.get("violations").and_then(serde_json::Value::as_u64);
                assert_eq!(violations, Some(0), "{}: invariants were broken: {facts:?}", run.display());
            }
        }
    }
}

/// Keys before the first table belong to the top level.
fn top(toml: &str) -> &str {
    toml.split_once("\n[").map_or("", |(top, _)| top)
}

fn rest(toml: &str) -> String {
    let rest = toml.split_once("\n[").map_or("", |(_, rest)| rest);
    // A [master] table of the job's own continues where ours began.
    match rest.strip_prefix("master]\n") {
        Some(master) => master.to_owned(),
        None => format!("\n[{rest}"),
    }
}

/// The run folders of a work folder, oldest first.
pub fn runs_in(work_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(work_dir).into_iter().flatten().flatten();
    // A master that begins tries out whether a file can be written beside them.
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

/// Results in the ledger of a run, by its folder, durable or not.
pub fn results_in(run: &Path) -> usize {
    let count = |path: PathBuf| -> Option<usize> {
        let bytes = fs::read(&path).ok()?;
        // A segment begins with eight bytes that say what it is, and the digest of its plan.
        let plan = Digest(bytes.get(8..40)?.try_into().ok()?);
        let mut entries = Vec::new();
        read_segment(&plan, &path, &bytes, None, &mut entries).ok()?;
        Some(entries.iter().filter(|entry| entry.kind() == Kind::Sample).count())
    };
    let segments = fs::read_dir(run.join("ledger")).into_iter().flatten().flatten();
    segments.filter_map(|segment| count(segment.path())).sum()
}

/// Every file below a folder, with its bytes.
pub fn tree_of(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(root, root, &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}

impl Running {
    /// The master's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it has ended on its own.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        kill(self.pid(), signal);
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Finished {
        let mut stdout = self.child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.as_mut().map(|stream| stream.read_to_string(&mut text));
            text
        });
        let mut stderr = String::new();
        let _ = self.child.stderr.take().map(|mut stream| stream.read_to_string(&mut stderr));
        let code = self.child.wait().ok().and_then(|status| status.code());
        Finished { code, stdout: reader.join().unwrap_or_default(), stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// Fails unless the master exited with `code`.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}
