//! One run: a master and its agents, watched from start to end.

use compass_tests::{Job, Running, Worker, peak_rss_mib, rss_mib, told_address, worker_command};
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between two looks at the processes.
const LOOK: Duration = Duration::from_millis(50);
/// Looks from one sum over all agents to the next, which takes a read for each of them.
const LOOKS_PER_SUM: u32 = 40;
/// Longest run; a master that has not ended by then hangs.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Course of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) code: Option<i32>,
    /// From the start of the master until it listens: reading, planning, cutting into tasks.
    pub(crate) plan_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) master_mib: f64,
    /// Most memory of one agent and its engine's parent, and of all agents together, as sums of resident pages.
    pub(crate) agent_mib: f64,
}

/// Runs the job under `agents` processes of compass-worker, of one slot each; `trace` is what their engines write.
pub(crate) fn run(job: &Job, agents: usize, trace: Option<&Path>) -> Result<Watched, String> {
    let begun = Instant::now();
    let mut master = start(job, &[], "master.log");
    let address = told_address(job, "master.log");
    let mut watched = Watched { plan_s: begun.elapsed().as_secs_f64(), ..Watched::default() };
    let workers: Vec<Worker> = (0..agents).map(|at| agent(job, &address, at, trace)).collect();
    for look in 0_u32.. {
        if master.has_ended() {
            break;
        }
        if begun.elapsed() > TIMEOUT {
            return Err(format!(
                "the master has not ended after {} s\n{}",
                TIMEOUT.as_secs(),
                tail(&job.log("master.log"))
            ));
        }
        watched.master_mib = peak_rss_mib(master.pid()).unwrap_or(0.0).max(watched.master_mib);
        if look % LOOKS_PER_SUM == 0 {
            let most = workers.iter().filter_map(|worker| rss_mib(worker.pid())).fold(0.0, f64::max);
            watched.agent_mib = watched.agent_mib.max(most);
        }
        std::thread::sleep(LOOK);
    }
    watched.wall_s = begun.elapsed().as_secs_f64();
    watched.code = master.finish().code;
    for worker in workers {
        let (code, said) = worker.finish();
        if code != Some(0) {
            return Err(format!("an agent ended with {code:?}\n{}", tail(&said)));
        }
    }
    if watched.code != Some(0) {
        return Err(format!("the master ended with {:?}\n{}", watched.code, tail(&job.log("master.log"))));
    }
    Ok(watched)
}

/// Starts a master. Its table goes nowhere: that of a thousand units would fill a pipe that is read at the end alone.
pub(crate) fn start(job: &Job, arguments: &[&str], log: &str) -> Running {
    job.command_line(&[&["--config", "eval.toml"], arguments].concat()).spawn_logged(&job.path(log))
}

fn agent(job: &Job, address: &str, number: usize, trace: Option<&Path>) -> Worker {
    let mut command = worker_command(address, &job.path("home"));
    command.args(["--slots", "1"]).env("NO_COLOR", "1");
    if let Some(trace) = trace {
        command.env("COMPASS_FAULT_TRACE", trace);
    }
    Worker::start(command, job.path(&format!("agent-{number}.log")))
}

/// Second opening of a finished run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opened {
    /// Until the master has plan and ledger, and knows that nothing is left to be run.
    pub(crate) open_s: f64,
    /// To its end, with scores and table.
    pub(crate) wall_s: f64,
    pub(crate) master_mib: f64,
}

/// Opens the latest run of the job with `-r`.
pub(crate) fn open_again(job: &Job) -> Result<Opened, String> {
    let begun = Instant::now();
    let mut master = start(job, &["-r"], "again.log");
    let mut opened = Opened::default();
    while !master.has_ended() {
        if begun.elapsed() > TIMEOUT {
            return Err(format!("-r has not ended after {} s\n{}", TIMEOUT.as_secs(), tail(&job.log("again.log"))));
        }
        opened.master_mib = peak_rss_mib(master.pid()).unwrap_or(0.0).max(opened.master_mib);
        if opened.open_s == 0.0 && is_open(&job.log("again.log")) {
            opened.open_s = begun.elapsed().as_secs_f64();
        }
        std::thread::sleep(LOOK);
    }
    opened.wall_s = begun.elapsed().as_secs_f64();
    match master.finish().code {
        Some(0) if opened.open_s > 0.0 || is_open(&job.log("again.log")) => {
            if opened.open_s == 0.0 {
                opened.open_s = opened.wall_s;
            }
            Ok(opened)
        }
        code => Err(format!("-r ended with {code:?}\n{}", tail(&job.log("again.log")))),
    }
}

/// Returns whether the master has said that inference is done.
fn is_open(log: &str) -> bool {
    log.lines().any(|line| line.contains("  infer  ") && line.contains("  done"))
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
