//! A worker whose master is 200 ms away: the run ends, with the same bytes. That its slots do not wait for the network is
//! a rule with a test of its own (the agent's `credit_control`), and a figure of `bench-far`: what the system schedules is asserted
//! nowhere.

use compass_tests::{
    Mood, Proxy, Worker, assert_same, echo_job, join_token_file, told_address, undisturbed, worker_command,
};
use std::time::Duration;

const ONE_WAY: Duration = Duration::from_millis(100);
/// Short tasks: each is over before a round trip is.
const RUNNER: &str =
    "[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 16\ngen_task_coef = 2\n";

#[test]
#[ignore = "nightly"]
fn a_run_with_a_far_master_gives_the_same_bytes() {
    let job = echo_job("listen = \"127.0.0.1:0\"", RUNNER);
    let running = job.start_logged(&[], "master.log");
    let proxy = Proxy::start(&told_address(&job, "master.log"));
    proxy.set(Mood::Delay(ONE_WAY));
    let mut command = worker_command(&proxy.address(), &job.path("home"));
    command.env("COMPASS_TOKEN_FILE", join_token_file(&job));
    let worker = Worker::start(command, job.path("worker.log"));
    assert_eq!(running.finish().code, Some(0), "{}", job.log("master.log"));
    let (code, said) = worker.finish();
    assert_eq!(code, Some(0), "{said}");
    assert_same(&job, &undisturbed());
    let facts = job.facts();
    assert!(facts["tasks"].as_u64().unwrap() >= 20, "many tasks, each shorter than the round trip: {facts}");
    assert_eq!((&facts["repeats"], &facts["divergences"]), (&0.into(), &0.into()), "{facts}");
    assert!(said.contains("busy and idle time of the slots"), "the worker tells how long its slots waited: {said}");
}
