//! Kills the leader of a run, again and again, and measures what becomes of it: `failover --runs 20`.
//!
//! Each run has an etcd, two masters and three workers that know both, on the echo engine. The leader is killed with
//! `kill -9` in mid-run. Its workers live on, so nothing that they hold may be run again; and nothing that it recorded may
//! be lost. The last line holds the worst of all runs.

use compass_common::config::EtcdConfig;
use compass_common::ids::Digest;
use compass_master::ledger::{Kind, Ledger};
use compass_master::pipeline::{RunFolder, read_plan};
use compass_master::store::{EtcdStore, Keys, LeaseStore, Patience};
use compass_tests::{Etcd, EtcdOptions, Job, SAMPLES, configuration, echo_job, kill, program, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const WORKERS: usize = 3;
const DELAY_MS: &str = "300";
/// Many small tasks: after the take-over there must be some left to grant.
const SMALL_TASKS: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 6\ngen_task_coef = 2";

/// What one run came to.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// From the kill to the first new grant.
    seconds: f64,
    /// Samples that the dead leader had recorded, and that the next one did not find.
    lost: u64,
    /// Samples that were run twice, although nobody who runs samples died.
    again: u64,
}

impl Measured {
    fn worst(self, other: Self) -> Self {
        Self { seconds: self.seconds.max(other.seconds), lost: self.lost + other.lost, again: self.again + other.again }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(20),
        ["--runs", count] => count.parse().ok(),
        _ => None,
    };
    let Some(runs) = runs else {
        eprintln!("usage: failover [--runs N]");
        return ExitCode::from(2);
    };
    match measure(runs) {
        Ok(Some(worst)) => {
            let Measured { seconds, lost, again } = worst;
            println!(
                "runs: {runs}, slowest first new grant: {seconds:.2} s, lost commits: {lost}, \
                 samples of live workers run again: {again}"
            );
            ExitCode::from(u8::from(lost + again > 0))
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failover: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(runs: u32) -> Result<Option<Measured>, Box<dyn Error>> {
    let expected = echo_job(0, "", "");
    expected.run(&[]).expect(0);
    let expected = expected.tree("results");
    let Some(etcd) = Etcd::start("failover", 1, EtcdOptions::default()) else { return Ok(None) };
    let mut worst = Measured::default();
    for run in 1..=runs {
        let measured = fail_over(&etcd, run, &expected)?;
        let Measured { seconds, lost, again } = measured;
        println!("run {run}: first new grant after {seconds:.2} s, lost {lost}, run again {again}");
        worst = worst.worst(measured);
    }
    Ok(Some(worst))
}

fn free_port() -> Result<u16, std::io::Error> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn fail_over(etcd: &Etcd, run: u32, expected: &BTreeMap<String, Vec<u8>>) -> Result<Measured, Box<dyn Error>> {
    let prefix = format!("failover/{run}");
    let ports = [free_port()?, free_port()?];
    let master = |port: u16| format!("listen = \"127.0.0.1:{port}\"\nstore = \"etcd://{}/{prefix}\"", etcd.endpoints());
    let job = echo_job(0, "", "");
    job.configure(&configuration(&master(ports[1]), SMALL_TASKS));
    fs::rename(job.path("eval.toml"), job.path("second.toml"))?;
    job.configure(&configuration(&master(ports[0]), SMALL_TASKS));

    let mut leader = start(job.command_of("eval.toml", &[]), &job, "leader")?;
    wait_for(&job, "leader", "waiting for workers");
    let mut standby = start(job.command_of("second.toml", &[]), &job, "standby")?;
    wait_for(&job, "standby", "standing by");
    let mut workers = Vec::new();
    for at in 0..WORKERS {
        let mut command = Command::new(program("compass-worker"));
        let masters = format!("127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]);
        command.args(["--master", &masters, "--slots", "2", "--no-sandbox", "--name", &format!("w{at}")]);
        command.env("COMPASS_ECHO_DELAY_MS", DELAY_MS).env("COMPASS_ECHO_TRACE", job.path("trace"));
        command.env("COMPASS_LOG", "compass_worker=debug").env("NO_COLOR", "1");
        workers.push(start(command, &job, &format!("w{at}"))?);
    }
    let traced = |job: &Job| job.log("trace").lines().count();
    // Not twice at the same point.
    let at = 30 + (run as usize * 7) % 40;
    wait_until("some samples are done", || (traced(&job) >= at).then_some(()));
    kill(leader.id(), "KILL");
    let killed = Instant::now();
    leader.wait()?;
    let recorded = recorded(etcd, &prefix, &job)?;
    let seconds = wait_until("a new grant", || {
        (0..WORKERS).any(|at| granted_anew(&job.log(&format!("w{at}")))).then(|| killed.elapsed().as_secs_f64())
    });
    let ended = standby.wait()?;
    if !ended.success() {
        return Err(format!("the second master ended with {ended}: {}", job.log("standby")).into());
    }
    for mut worker in workers {
        worker.wait()?;
    }
    if job.tree("results") != *expected {
        return Err("results/ differs from a run that nothing disturbed".into());
    }
    let trace = job.log("trace");
    let distinct: BTreeSet<&str> = trace.lines().collect();
    if distinct.len() != 2 * SAMPLES as usize {
        return Err(format!("{} of {} samples were run", distinct.len(), 2 * SAMPLES).into());
    }
    let found = job.facts()["resumed_samples"].as_u64().unwrap_or(0);
    let again = trace.lines().count() - distinct.len();
    Ok(Measured { seconds, lost: recorded.saturating_sub(found), again: again as u64 })
}

fn start(mut command: Command, job: &Job, log: &str) -> Result<Child, std::io::Error> {
    let log = File::create(job.path(log))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
}

fn wait_for(job: &Job, log: &str, words: &str) {
    wait_until(words, || job.log(log).contains(words).then_some(()));
}

/// Whether a worker was granted something after the second leader's welcome.
fn granted_anew(log: &str) -> bool {
    let welcome = log.find("welcomed by the master epoch=2");
    welcome.is_some_and(|at| log[at..].contains(": grant task="))
}

/// Samples that count by the store, now that nobody leads.
fn recorded(etcd: &Etcd, prefix: &str, job: &Job) -> Result<u64, Box<dyn Error>> {
    let run = job.latest();
    let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = RunFolder::find(&job.path("out"), Some(&name))?;
    let (_, digest, _) = read_plan(&folder)?;
    let lengths = tokio::runtime::Runtime::new()?.block_on(lengths(etcd, prefix, &digest))?;
    let loaded = Ledger::new(run.join("ledger"), digest).load(&lengths)?;
    Ok(loaded.entries.iter().filter(|entry| entry.kind() == Kind::Sample).count() as u64)
}

async fn lengths(etcd: &Etcd, prefix: &str, digest: &Digest) -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let config = EtcdConfig { endpoints: vec![etcd.endpoint(0)], prefix: prefix.into(), ..EtcdConfig::default() };
    let patience = Patience { request: Duration::from_secs(10), ..Patience::default() };
    let store = EtcdStore::open(&config, digest, patience)?;
    let segments = Keys::new(digest).segments();
    let found = store.scan_all(&segments).await?.into_iter().filter_map(|(key, value)| {
        Some((key.strip_prefix(&segments)?.to_owned(), u64::from_le_bytes(value.try_into().ok()?)))
    });
    Ok(found.collect())
}
