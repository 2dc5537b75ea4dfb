//! The leader of a run is killed, and its workers live on.

use compass_tests::{
    Etcd, EtcdOptions, Job, SAMPLES, committed, configuration, echo_job, free_port, kill, program, wait_until,
};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

pub(crate) const WORKERS: usize = 3;
const DELAY_MS: &str = "300";
/// Many small tasks: after the take-over there must be some left to grant.
pub(crate) const SMALL_TASKS: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 6\ngen_task_coef = 2";

/// Measurements of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// From the kill to the first new grant.
    pub(crate) seconds: f64,
    /// Samples that the dead leader had recorded, and that the next one did not find.
    pub(crate) lost: u64,
    /// Samples that were run twice, although no worker died.
    pub(crate) again: u64,
}

impl Measured {
    fn worst(self, other: Self) -> Self {
        Self { seconds: self.seconds.max(other.seconds), lost: self.lost + other.lost, again: self.again + other.again }
    }
}

pub(crate) fn measure(runs: u32) -> Result<Option<Measured>, Box<dyn Error>> {
    let expected = echo_job("", "");
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

fn fail_over(etcd: &Etcd, run: u32, expected: &BTreeMap<String, Vec<u8>>) -> Result<Measured, Box<dyn Error>> {
    let prefix = format!("failover/{run}");
    let ports = [free_port(), free_port()];
    let master = |port: u16| format!("listen = \"127.0.0.1:{port}\"\nstore = \"etcd://{}/{prefix}\"", etcd.endpoints());
    let job = echo_job("", "");
    job.configure(&configuration(&master(ports[1]), SMALL_TASKS));
    fs::rename(job.path("eval.toml"), job.path("second.toml"))?;
    job.configure(&configuration(&master(ports[0]), SMALL_TASKS));

    let mut leader = start(job.command_of("eval.toml", &[]), &job, "leader")?;
    wait_for(&job, "leader", "waiting for workers");
    let mut standby = start(job.command_of("second.toml", &[]), &job, "standby")?;
    wait_for(&job, "standby", "standing by");
    let workers = start_workers(&job, &format!("127.0.0.1:{},127.0.0.1:{}", ports[0], ports[1]))?;
    let traced = |job: &Job| job.log("trace").lines().count();
    // Not twice at the same point.
    let at = 30 + (run as usize * 7) % 40;
    wait_until("some samples are done", || (traced(&job) >= at).then_some(()));
    kill(leader.id(), "KILL");
    let killed = Instant::now();
    leader.wait()?;
    let recorded = committed(etcd, &prefix, &job)?.samples.len() as u64;
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

/// Workers that know these masters, and write down what they run in the file `trace`.
pub(crate) fn start_workers(job: &Job, masters: &str) -> Result<Vec<Child>, std::io::Error> {
    let worker = |at: usize| {
        let mut command = Command::new(program("worker-with-faults"));
        command.args(["--master", masters, "--slots", "2", "--no-sandbox", "--name", &format!("w{at}")]);
        command
            .env("HOME", job.path("home"))
            .env("COMPASS_FAULT_DELAY_MS", DELAY_MS)
            .env("COMPASS_FAULT_TRACE", job.path("trace"));
        command.env("COMPASS_LOG", "compass_worker=debug,compass_agent=debug").env("NO_COLOR", "1");
        start(command, job, &format!("w{at}"))
    };
    (0..WORKERS).map(worker).collect()
}

pub(crate) fn start(mut command: Command, job: &Job, log: &str) -> Result<Child, std::io::Error> {
    let log = File::create(job.path(log))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()
}

pub(crate) fn wait_for(job: &Job, log: &str, words: &str) {
    wait_until(words, || job.log(log).contains(words).then_some(()));
}

/// Returns whether a worker was granted something after the second leader's welcome.
fn granted_anew(log: &str) -> bool {
    let welcome = log.find("welcomed by the master epoch=2");
    welcome.is_some_and(|at| log[at..].contains(": grant task="))
}
