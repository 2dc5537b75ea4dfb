//! Two servers over one etcd, whose jobs' workers run under a Slurm: they die and stop, jobs are cancelled under them, and
//! `sbatch` says that it failed when it did not.

use crate::faults::{Fault, Faults};
use crate::pipes;
use compass_tests::{
    Etcd, Job, Running, Slurm, Tree, configuration, echo_job, free_port, runs_in, tree_of, wait_until,
};
use compass_types::seeded::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SERVERS: usize = 2;
/// Workers of both jobs together, which is what the servers may have in the queue.
const WORKERS: usize = 2;
const FAULTS: u64 = 6;
/// Longer than a server's lease, so that one that is stopped so long is succeeded.
const LONGEST_MS: u64 = 9_000;
const TIMEOUT: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(100);
/// Time that the echo engine takes for a sample, in milliseconds.
const DELAY_MS: &str = "60";
/// The jobs, distinguished by the names of their models.
const JOBS: [&str; 2] = ["first", "second"];
const RUNNER: &str = "[infer.runner]\ntype = \"slurm\"\npartition = \"llmeval\"\nmax_num_workers = 2\n";
const SMALL_TASKS: &str = "[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";
/// Lines of each log that a failure shows.
const TAIL: usize = 150;

/// Action that ends a fault.
#[derive(Clone, Copy, Debug)]
enum Cure {
    StartServer(usize),
    WakeServer(usize),
    StartMember(usize),
    TellTheTruth,
}

/// One history of servers.
pub(crate) struct Servers<'a> {
    slurm: &'a Slurm,
    etcd: &'a mut Etcd,
    rng: Rng,
    faults: Faults,
    job: Job,
    servers: Vec<Running>,
    /// Stopped or killed; at most one is, so that the other can lead.
    away: Option<usize>,
    member_away: Option<usize>,
    waiting: Vec<Running>,
    cures: Vec<(Instant, Cure)>,
    counts: BTreeMap<&'static str, u32>,
    /// Jobs of Slurm that earlier histories left in its memory.
    earlier: BTreeSet<String>,
    cancelled: BTreeSet<String>,
    most_live: usize,
}

impl<'a> Servers<'a> {
    /// Starts both servers and submits the jobs.
    ///
    /// # Errors
    /// Something cannot be written.
    pub(crate) fn start(slurm: &'a Slurm, etcd: &'a mut Etcd, seed: u64, faults: &Faults) -> std::io::Result<Self> {
        let mut job = echo_job("", "");
        let store = format!("store = \"etcd://{}/chaos/{seed}\"", etcd.endpoints());
        let state = format!("state_dir = \"{}\"", job.path("state").display());
        for server in 0..SERVERS {
            let listen = format!("listen = \"127.0.0.1:{}\"", free_port());
            job.write(&config_of(server), &format!("[master]\n{store}\n{state}\n{listen}\n{RUNNER}"));
        }
        for name in JOBS {
            let text = configuration(&format!("{store}\n{state}"), SMALL_TASKS);
            let text = text.replace("\"echo\"\ntype", &format!("\"{name}\"\ntype"));
            job.write(&format!("{name}.toml"), &format!("work_dir = \"{name}\"\n{text}"));
        }
        job.set_env("SLURM_CONF", &slurm.conf());
        job.set_env("COMPASS_FAULT_DELAY_MS", DELAY_MS);
        let path = std::env::var("PATH").unwrap_or_default();
        job.set_env("PATH", &format!("{}:{path}", lying_sbatch(&job)?.display()));
        let earlier = slurm.ours().into_iter().map(|job| job.id).collect();
        let mut history = Self {
            slurm,
            etcd,
            rng: Rng::new(seed),
            faults: faults.clone(),
            job,
            servers: Vec::new(),
            away: None,
            member_away: None,
            waiting: Vec::new(),
            cures: Vec::new(),
            counts: BTreeMap::new(),
            earlier,
            cancelled: BTreeSet::new(),
            most_live: 0,
        };
        for (server, words) in ["serving; workers dial", "standing by"].into_iter().enumerate() {
            let running = history.server(server);
            history.servers.push(running);
            wait_until(words, || history.job.log(&log_of(server)).contains(words).then_some(()));
        }
        // What Slurm says of the first workers is a lie in half of all histories.
        if history.rng.chance(500) {
            history.lie();
        }
        for name in JOBS {
            let words = ["submit", "--config", &format!("{name}.toml"), "--wait"];
            let log = history.job.path(&format!("{name}.log"));
            history.waiting.push(history.job.command_line(&words).spawn_logged(&log));
        }
        Ok(history)
    }

    /// Describes what happened, in words.
    pub(crate) fn told(&self) -> String {
        let each = self.counts.iter().map(|(what, count)| format!("{count} {what}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Plays until both jobs have ended.
    ///
    /// # Errors
    /// What was wrong, in words.
    pub(crate) fn play(&mut self, expected: &(Tree, Tree)) -> Result<(), String> {
        let mut left = self.rng.between(FAULTS / 2, FAULTS);
        let (begun, mut next) = (Instant::now(), Instant::now());
        while self.is_waited_for()? {
            if begun.elapsed() > TIMEOUT {
                return Err("the jobs do not end".into());
            }
            self.tend()?;
            self.cure(Instant::now());
            self.look()?;
            if left > 0 && Instant::now() >= next {
                left -= 1;
                self.strike();
                next = Instant::now() + Duration::from_millis(self.rng.below(3_000));
            }
            std::thread::sleep(LOOK);
        }
        while let Some(&(at, _)) = self.cures.first() {
            self.cure(at);
        }
        self.stop_servers()?;
        self.judge(expected)
    }

    /// Returns whether a `submit --wait` still runs; one that ended must have ended with 0.
    fn is_waited_for(&mut self) -> Result<bool, String> {
        while let Some(at) = self.waiting.iter_mut().position(Running::has_ended) {
            let code = self.waiting.remove(at).finish().code;
            if code != Some(0) {
                return Err(format!("`submit --wait` ended with {code:?}"));
            }
        }
        Ok(!self.waiting.is_empty())
    }

    /// Servers that ended are started again, as an operator would.
    fn tend(&mut self) -> Result<(), String> {
        for server in (0..SERVERS).filter(|&server| self.away != Some(server)).collect::<Vec<_>>() {
            if self.servers[server].has_ended() {
                let again = self.server(server);
                match std::mem::replace(&mut self.servers[server], again).finish().code {
                    Some(4) => self.note("leadership lost"),
                    code => return Err(format!("server {server} ended with {code:?}")),
                }
            }
        }
        Ok(())
    }

    /// Looks at Slurm's queue: it never has more of ours than the servers may have there.
    fn look(&mut self) -> Result<(), String> {
        let ours = self.slurm.ours().into_iter().filter(|job| !self.earlier.contains(&job.id));
        let live = ours.filter(|job| ["PENDING", "RUNNING"].contains(&job.state.as_str())).count();
        self.most_live = live.max(self.most_live);
        if live > WORKERS {
            return Err(format!("{live} jobs in Slurm's queue, where {WORKERS} may be"));
        }
        Ok(())
    }

    fn strike(&mut self) {
        let Some(fault) = self.faults.draw(&mut self.rng) else { return };
        let server = self.rng.below(SERVERS as u64) as usize;
        let member = self.rng.below(3) as usize;
        let ms = self.rng.between(500, LONGEST_MS);
        match fault {
            Fault::MasterKilled if self.away.is_none() => {
                self.note("server killed");
                self.away = Some(server);
                self.servers[server].signal("KILL");
                self.later(ms, Cure::StartServer(server));
            }
            Fault::MasterStopped if self.away.is_none() => {
                self.note("server stopped");
                self.away = Some(server);
                self.servers[server].signal("STOP");
                self.later(ms, Cure::WakeServer(server));
            }
            Fault::MemberKilled if self.member_away.is_none() => {
                self.note("member of etcd killed");
                self.member_away = Some(member);
                self.etcd.kill(member);
                self.later(ms, Cure::StartMember(member));
            }
            Fault::SlurmJob => {
                let running = self.slurm.running();
                let mut ours = running.iter().filter(|job| !self.earlier.contains(&job.id));
                if let Some(job) = ours.next().filter(|job| !self.cancelled.contains(&job.id)) {
                    self.cancelled.insert(job.id.clone());
                    self.slurm.run("scancel", &[&job.id]);
                    self.note("job of Slurm cancelled");
                }
            }
            Fault::Sbatch => self.lie(),
            Fault::Pipes => {
                let folders = JOBS.map(|name| self.job.path(name));
                if folders.iter().filter(|folder| pipes::lay(folder)).count() > 0 {
                    self.note("pipes laid");
                }
            }
            _ => self.note("moment of peace"),
        }
    }

    /// From now on, for a while, `sbatch` says that it failed when it did not.
    fn lie(&mut self) {
        self.note("sbatch lies");
        self.job.write("lies", "");
        let ms = self.rng.between(2_000, LONGEST_MS);
        self.later(ms, Cure::TellTheTruth);
    }

    fn cure(&mut self, now: Instant) {
        while let Some(&(_, cure)) = self.cures.first().filter(|(at, _)| *at <= now) {
            self.cures.remove(0);
            match cure {
                Cure::StartServer(server) => {
                    let again = self.server(server);
                    std::mem::replace(&mut self.servers[server], again).finish();
                    self.away = None;
                }
                Cure::WakeServer(server) => {
                    self.servers[server].signal("CONT");
                    self.away = None;
                }
                Cure::StartMember(member) => {
                    self.etcd.spawn(member);
                    self.etcd.wait_healthy();
                    self.member_away = None;
                }
                Cure::TellTheTruth => {
                    let _ = fs::remove_file(self.job.path("lies"));
                }
            }
        }
    }

    fn stop_servers(&mut self) -> Result<(), String> {
        for running in &mut self.servers {
            if !running.has_ended() {
                running.signal("TERM");
            }
        }
        for (server, running) in std::mem::take(&mut self.servers).into_iter().enumerate() {
            let code = running.finish().code;
            if !matches!(code, Some(143 | 4)) {
                return Err(format!("server {server} was asked to stop and ended with {code:?}"));
            }
        }
        Ok(())
    }

    /// The bytes of runs that nothing disturbed, no broken rule, and nothing left in Slurm's queue.
    fn judge(&self, expected: &(Tree, Tree)) -> Result<(), String> {
        for name in JOBS {
            let runs = runs_in(&self.job.path(name));
            let [run] = runs.as_slice() else { return Err(format!("{name} has {} run folders", runs.len())) };
            for (part, expected) in [("results", &expected.0), ("predictions", &expected.1)] {
                let renamed =
                    expected.iter().map(|(file, bytes)| (file.replace("echo/", &format!("{name}/")), bytes.clone()));
                if tree_of(&run.join(part)) != renamed.collect() {
                    return Err(format!("{part}/ of {name} differ"));
                }
            }
            let facts = fs::read(run.join("logs/run.json")).unwrap_or_default();
            let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap_or_default();
            for fact in ["violations", "divergences"] {
                if facts[fact].as_u64() != Some(0) {
                    return Err(format!("{fact} of {name}: {}", facts[fact]));
                }
            }
        }
        let ours = || self.slurm.ours().into_iter().filter(|job| !self.earlier.contains(&job.id));
        let left: Vec<_> = ours().filter(compass_tests::SlurmJob::is_live).collect();
        if !left.is_empty() {
            return Err(format!("left in Slurm's queue: {left:?}"));
        }
        // A job that was cancelled has another in its place, and so may one have that was submitted before its server knew of the
        // other.
        let knew_one = ours().filter(|job| !job.comment.contains(',') && !self.cancelled.contains(&job.id)).count();
        let (submitted, most) = (ours().count(), WORKERS + self.cancelled.len() + knew_one);
        if submitted > most {
            return Err(format!(
                "{submitted} jobs were submitted to Slurm, where {most} do: {:?}",
                ours().collect::<Vec<_>>()
            ));
        }
        Ok(())
    }

    fn server(&self, server: usize) -> Running {
        let words = ["serve", "--config", &config_of(server)];
        self.job.command_line(&words).spawn_logged(&self.job.path(&log_of(server)))
    }

    fn note(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn later(&mut self, ms: u64, cure: Cure) {
        self.cures.push((Instant::now() + Duration::from_millis(ms), cure));
        self.cures.sort_by_key(|(at, _)| *at);
    }

    /// The ends of all logs, for a failure.
    pub(crate) fn logs(&self) -> String {
        let names = (0..SERVERS).map(log_of).chain(JOBS.map(|name| format!("{name}.log")));
        let end = |name: String| {
            let log = self.job.log(&name);
            let lines: Vec<&str> = log.lines().collect();
            format!("--- {name}\n{}\n", lines[lines.len().saturating_sub(TAIL)..].join("\n"))
        };
        names.map(end).collect()
    }
}

fn config_of(server: usize) -> String {
    format!("server{server}.toml")
}

fn log_of(server: usize) -> String {
    format!("server{server}.log")
}

/// A folder with an `sbatch` that submits, and while the file `lies` exists says that it could not.
fn lying_sbatch(job: &Job) -> std::io::Result<PathBuf> {
    let lies = job.path("lies");
    let script = format!(
        "#!/bin/bash\nPATH=${{PATH#*:}}\nsaid=$(sbatch \"$@\") || exit\n\
         if [ -e '{}' ] && [[ \" $* \" != *' --test-only '* ]]; then\n  \
         echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2\n  exit 1\nfi\n\
         echo \"$said\"\n",
        lies.display()
    );
    job.write("bin/sbatch", &script);
    let path = job.path("bin/sbatch");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(job.path("bin"))
}
