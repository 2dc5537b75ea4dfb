//! A worker whose master is 200 ms away: it holds so much ahead that its slots do not wait for the network.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Mood, Proxy, Worker, assert_same, echo_job, told_address, undisturbed, worker_command};
use std::time::Duration;

const ONE_WAY: Duration = Duration::from_millis(100);
/// Short tasks: each is over before a round trip is.
const RUNNER: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 16\ngen_task_coef = 2\n";
const DELAY_MS: u32 = 8;

/// A number of what the worker said of its slots at the end: `name=123`.
fn number(said: &str, name: &str) -> u64 {
    let line = said.lines().rfind(|line| line.contains("slots had work, and waited for it")).unwrap();
    let word = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.unwrap().parse().unwrap()
}

#[test]
fn a_far_master_idles_no_slot() {
    let job = echo_job(DELAY_MS, "listen = \"127.0.0.1:0\"", RUNNER);
    let running = job.start_logged(&[], "master.log");
    let proxy = Proxy::start(&told_address(&job, "master.log"));
    proxy.set(Mood::Delay(ONE_WAY));
    let mut command = worker_command(&proxy.address(), &job.path("home"));
    command.env("COMPASS_ECHO_DELAY_MS", DELAY_MS.to_string());
    let worker = Worker::start(command, job.path("worker.log"));
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = worker.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&job, &undisturbed());
    let tasks = job.facts()["tasks"].as_u64().unwrap();
    let (busy, idle, gaps) = (number(&said, "busy_ms"), number(&said, "idle_ms"), number(&said, "gaps"));
    eprintln!("{tasks} tasks, round trip 200 ms: a slot waited {gaps} times, {idle} ms of {}", busy + idle);
    // One grant ahead alone would let the slot wait after nearly every task.
    assert!(tasks >= 20 && gaps * 3 <= tasks, "{gaps} gaps in {tasks} tasks\n{said}");
}
