//! Two masters and three workers of one run, and the ways between them.

use compass_mirrors::openai::{Endpoint, Script};
use compass_tests::{
    Etcd, Job, Mood, Proxy, Tree, configuration, echo_job, endpoint_configuration, endpoint_rows, free_port, kill,
    program, undisturbed, wait_until,
};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

pub(crate) const MASTERS: usize = 2;
pub(crate) const WORKERS: usize = 3;
/// Time that the echo engine takes for a sample, in milliseconds.
const DELAY_MS: &str = "60";
/// Time that the endpoint takes for an answer.
const LATENCY: Duration = Duration::from_millis(60);
/// Questions of the job behind an endpoint.
const QUESTIONS: u32 = 150;
/// Many small tasks: grants are on their way whenever something happens.
const SMALL_TASKS: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3";
/// Lines of each log that a failure shows.
const TAIL: usize = 30;

/// Model that the workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Model {
    Echo,
    Demo,
    /// Behind a scripted endpoint, with shots that all questions share: their beginning is asked for by one slot.
    Endpoint,
}

impl Model {
    pub(crate) fn named(name: &str) -> Option<Self> {
        [("echo", Self::Echo), ("demo", Self::Demo), ("endpoint", Self::Endpoint)]
            .into_iter()
            .find_map(|(known, model)| (known == name).then_some(model))
    }

    fn configuration(self, master: &str, url: &str) -> String {
        match self {
            Self::Echo => configuration(master, SMALL_TASKS),
            Self::Demo => demo(master, SMALL_TASKS),
            Self::Endpoint => served(url, master, SMALL_TASKS),
        }
    }

    /// The job, and its endpoint if its model is behind one.
    fn job(self) -> Result<(Job, Option<Endpoint>), Box<dyn Error>> {
        Ok(match self {
            Self::Echo => (echo_job("", ""), None),
            Self::Demo => (Job::new(&demo("", "")), None),
            Self::Endpoint => {
                let endpoint = Endpoint::start(Script { latency: LATENCY, ..Script::default() })?;
                let job = Job::new(&served(&endpoint.url(), "", ""));
                endpoint_rows(&job, QUESTIONS, |at| format!("What is {at}"));
                (job, Some(endpoint))
            }
        })
    }

    /// `results/` and `predictions/` of a run that nothing disturbed.
    ///
    /// # Errors
    /// The endpoint's, if it does not start.
    pub(crate) fn undisturbed(self) -> Result<(Tree, Tree), Box<dyn Error>> {
        if self == Self::Echo {
            return Ok(undisturbed());
        }
        let (job, _endpoint) = self.job()?;
        job.run(&["--max-num-workers", "2"]).expect(0);
        Ok((job.tree("results"), job.tree("predictions")))
    }
}

/// The job behind an endpoint at `url`.
fn served(url: &str, master: &str, infer: &str) -> String {
    let shots = "infer_cfg = { retriever = { type = \"first_n\", k = 2 }, ice_template = { round = [{ role = \"HUMAN\", \
                 prompt = \"{q}\" }, { role = \"BOT\", prompt = \"{a}\" }] }, ";
    let asked = "prompt_template = { begin = \"</E>\", round = [{ role = \"HUMAN\", prompt = \"{q}\" }] }";
    let table = endpoint_configuration(url, "").replace("infer_cfg = { ", shots);
    let table = table.replace("prompt_template = \"{q}\"", asked);
    let table = table.replace("test = {", "train = { path = \"rows.jsonl\" }\ntest = {");
    format!("\n[master]\n{master}\n{table}\n{infer}\n")
}

fn demo(master: &str, infer: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/eval.toml");
    let file = file.canonicalize().unwrap_or(file);
    format!("include = [\"{}\"]\n\n[master]\n{master}\n\n{infer}\n", file.display())
}

/// A process of ours, which ends with us.
pub(crate) struct Process(Child);

impl Process {
    fn start(mut command: Command, job: &Job, log: &str) -> std::io::Result<Self> {
        let log = File::options().create(true).append(true).open(job.path(log))?;
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?))
    }

    /// Returns its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Sends STOP or CONT, if it still runs.
    pub(crate) fn signal(&mut self, signal: &str) {
        if self.ended().is_none() {
            kill(self.0.id(), signal);
        }
    }

    /// Ends it as the kernel would.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Two masters and three workers of one run, and the connections between them.
pub(crate) struct Cluster {
    pub(crate) job: Job,
    pub(crate) prefix: String,
    pub(crate) masters: Vec<Process>,
    pub(crate) workers: Vec<Process>,
    /// From each master to each member of etcd.
    pub(crate) to_etcd: Vec<Vec<Proxy>>,
    /// From each worker to each master.
    pub(crate) to_masters: Vec<Vec<Proxy>>,
    /// Port on which each master listens.
    pub(crate) ports: Vec<u16>,
    /// A worker that lacks the model, if one has joined.
    bad_node: Option<Process>,
    /// Paths that the run folder was moved to, and from.
    moved: Option<(PathBuf, PathBuf)>,
    model: Model,
    /// The endpoint of [`Model::Endpoint`].
    _endpoint: Option<Endpoint>,
    /// Processes started so far under a worker's name.
    lives: usize,
}

/// The file with the join token, in the job's folder.
const TOKEN: &str = "token";

impl Cluster {
    /// A run that is under way: one master leads, the other stands by, the workers are on their way.
    pub(crate) fn start(model: Model, etcd: &Etcd, prefix: &str) -> Result<Self, Box<dyn Error>> {
        let members: Vec<String> = etcd.endpoints().split(',').map(str::to_owned).collect();
        let (job, endpoint) = model.job()?;
        let url = endpoint.as_ref().map(Endpoint::url).unwrap_or_default();
        let (mut ports, mut to_etcd) = (Vec::new(), Vec::new());
        for master in 0..MASTERS {
            let ways: Vec<Proxy> = members.iter().map(|member| Proxy::start(member)).collect();
            let store = ways.iter().map(Proxy::address).collect::<Vec<_>>().join(",");
            let port = free_port();
            let table = format!("listen = \"127.0.0.1:{port}\"\nstore = \"etcd://{store}/{prefix}\"");
            job.configure(&model.configuration(&table, &url));
            fs::rename(job.path("eval.toml"), job.path(&format!("master{master}.toml")))?;
            ports.push(port);
            to_etcd.push(ways);
        }
        let ways = || ports.iter().map(|port| Proxy::start(&format!("127.0.0.1:{port}"))).collect();
        let to_masters = (0..WORKERS).map(|_| ways()).collect();
        let (masters, workers, prefix) = (Vec::new(), Vec::new(), prefix.to_owned());
        let (bad_node, moved) = (None, None);
        let mut cluster = Self {
            job,
            prefix,
            masters,
            workers,
            to_etcd,
            to_masters,
            ports,
            bad_node,
            moved,
            model,
            _endpoint: endpoint,
            lives: 0,
        };
        for (master, words) in ["waiting for workers", "standing by"].into_iter().enumerate() {
            let process = cluster.master(master, &[])?;
            cluster.masters.push(process);
            wait_until(words, || cluster.job.log(&format!("master{master}.log")).contains(words).then_some(()));
        }
        // One for all workers, whichever master they join: both are of one authority.
        let words = ["token", "create", "--config", "master0.toml", "--ttl", "24h", "--uses", "10000", "--out", TOKEN];
        let made = cluster.job.command_line(&words).run();
        if made.code != Some(0) {
            return Err(format!("no join token: {}", made.stderr).into());
        }
        for worker in 0..WORKERS {
            let process = cluster.worker(worker)?;
            cluster.workers.push(process);
        }
        Ok(cluster)
    }

    fn master(&self, master: usize, arguments: &[&str]) -> std::io::Result<Process> {
        let command = self.job.command_of(&format!("master{master}.toml"), arguments);
        Process::start(command, &self.job, &format!("master{master}.log"))
    }

    fn worker(&mut self, worker: usize) -> std::io::Result<Process> {
        self.lives += 1;
        let masters = self.to_masters[worker].iter().map(Proxy::address).collect::<Vec<_>>().join(",");
        // A name of its own for each process: a master may not have noticed the end of the one before.
        let name = format!("w{worker}-{}", self.lives);
        let mut command = Command::new(program("worker-with-faults"));
        command.args(["--master", &masters, "--slots", "1", "--no-sandbox", "--device", "cpu", "--name", &name]);
        command.env("COMPASS_TOKEN_FILE", self.token()).env("COMPASS_FAULT_DELAY_MS", DELAY_MS).env("NO_COLOR", "1");
        Process::start(command, &self.job, &format!("worker{worker}.log"))
    }

    /// The file with the token of all workers.
    pub(crate) fn token(&self) -> PathBuf {
        self.job.path(TOKEN)
    }

    /// Starts a master again, on the run that there is.
    pub(crate) fn restart_master(&mut self, master: usize) -> std::io::Result<()> {
        self.masters[master] = self.master(master, &["-r"])?;
        Ok(())
    }

    pub(crate) fn restart_worker(&mut self, worker: usize) -> std::io::Result<()> {
        self.workers[worker] = self.worker(worker)?;
        Ok(())
    }

    /// Starts a worker on whose host the model's files are missing; `false` where one is there already.
    pub(crate) fn add_bad_node(&mut self) -> std::io::Result<bool> {
        // The demo's files lie where every worker on this host finds them.
        if self.bad_node.is_some() || self.model != Model::Echo {
            return Ok(false);
        }
        let masters = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",");
        let mut command = Command::new(program("worker-with-faults"));
        command.args(["--master", &masters, "--slots", "1", "--no-sandbox", "--device", "cpu", "--name", "bad"]);
        command
            .env("COMPASS_TOKEN_FILE", self.token())
            .env("COMPASS_FAULT_MISSING", "/models/echo")
            .env("NO_COLOR", "1");
        self.bad_node = Some(Process::start(command, &self.job, "bad.log")?);
        Ok(true)
    }

    /// Deletes the latest segment of the ledger; whether there was one.
    pub(crate) fn unlink_segment(&self) -> bool {
        let Some(run) = self.job.runs().pop() else { return false };
        let segments = fs::read_dir(run.join("ledger")).into_iter().flatten().flatten().map(|entry| entry.path());
        segments.max().is_some_and(|segment| fs::remove_file(segment).is_ok())
    }

    /// Moves the run folder to where no program looks; whether there was one.
    pub(crate) fn move_folder_away(&mut self) -> bool {
        let Some(run) = self.job.runs().pop() else { return false };
        let away = self.job.path("away");
        let moved = fs::rename(&run, &away).is_ok();
        if moved {
            self.moved = Some((away, run));
        }
        moved
    }

    /// Puts it back, in the place of whatever a master made there meanwhile.
    pub(crate) fn move_folder_back(&mut self) {
        if let Some((away, run)) = self.moved.take() {
            let _ = fs::remove_dir_all(&run);
            let _ = fs::rename(away, run);
        }
    }

    /// Every way is open again, every process continues.
    pub(crate) fn heal(&mut self) {
        self.to_etcd.iter().chain(&self.to_masters).flatten().for_each(|way| way.set(Mood::Pass));
        self.masters.iter_mut().chain(&mut self.workers).for_each(|process| process.signal("CONT"));
    }

    /// The ends of all logs, for a failure.
    pub(crate) fn logs(&self) -> String {
        let masters = (0..MASTERS).map(|at| format!("master{at}.log"));
        let workers = (0..WORKERS).map(|at| format!("worker{at}.log")).chain(["bad.log".to_owned()]);
        let mut text = String::new();
        for name in masters.chain(workers) {
            let log = self.job.log(&name);
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
            let _ = writeln!(text, "--- {name}\n{tail}");
        }
        text
    }
}
