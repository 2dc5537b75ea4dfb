//! `bench-far`: how long the slots of a worker wait for a far master, as a share of the time between their first and their
//! last grant.
//!
//! `--one-way MS` (100) delays every byte between the two, `--delay MS` (8) is what a sample takes. A run of many short tasks
//! on the echo engine; the figures are the worker's own. The last line is `idle share: X`. Both processes and the delay share
//! this machine's processors, so on a busy machine the share says more about that than about the rule, which has tests of its
//! own (the agent's `credit_control`).

use compass_tests::{Mood, Proxy, Worker, echo_job, join_token_file, told_address, worker_command};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: bench-far [--one-way MS] [--delay MS]";
/// Short tasks: with the defaults each is over before a round trip is.
const RUNNER: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 16\ngen_task_coef = 2\n";

fn options() -> Option<(u64, u32)> {
    let (mut one_way, mut delay) = (100, 8);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--one-way" => one_way = value.parse().ok()?,
            "--delay" => delay = value.parse().ok()?,
            _ => return None,
        }
    }
    Some((one_way, delay))
}

/// A number in the worker's report about its slots at the end: `name=123`.
fn number(said: &str, name: &str) -> Option<u64> {
    let line = said.lines().rfind(|line| line.contains("busy and idle time of the slots"))?;
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
}

fn main() -> ExitCode {
    let Some((one_way, delay)) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let job = echo_job("listen = \"127.0.0.1:0\"", RUNNER);
    let running = job.start_logged(&[], "master.log");
    let proxy = Proxy::start(&told_address(&job, "master.log"));
    proxy.set(Mood::Delay(Duration::from_millis(one_way)));
    let mut command = worker_command(&proxy.address(), &job.path("home"));
    command.env("COMPASS_TOKEN_FILE", join_token_file(&job));
    command.env("COMPASS_FAULT_DELAY_MS", delay.to_string()).env("NO_COLOR", "1");
    let worker = Worker::start(command, job.path("worker.log"));
    let code = running.finish().code;
    let (_, said) = worker.finish();
    let figures = ["busy_ms", "idle_ms", "gaps"].map(|name| number(&said, name));
    let ([Some(busy), Some(idle), Some(gaps)], Some(0)) = (figures, code) else {
        eprintln!("bench-far: the run did not end well ({code:?})\n{}\n{said}", job.log("master.log"));
        return ExitCode::FAILURE;
    };
    let tasks = &job.facts()["tasks"];
    println!("{tasks} tasks, round trip {} ms: slots waited {gaps} times, {idle} of {} ms", 2 * one_way, busy + idle);
    println!("idle share: {:.3}", idle as f64 / (busy + idle).max(1) as f64);
    ExitCode::SUCCESS
}
