//! A device that fails, as a job meets it. That results of a CPU keep workers on GPUs out, and the reverse, is a rule for models
//! with weights, which the echo engine has not: `device_types.rs` has it.

use compass_tests::{
    Job, Worker, assert_same, echo_job, held_job, told_address, undisturbed, wait_until, worker_command,
};
use std::ffi::OsStr;

/// Starts a worker of one slot that takes its time, with a fault that its environment asks for.
fn start(job: &Job, address: &str, name: &str, (fault, value): (&str, &OsStr)) -> Worker {
    let mut command = worker_command(address, &job.path("home"));
    command.args(["--name", name, "--slots", "1", "--no-sandbox"]);
    command.envs(job.environment()).env(fault, value);
    Worker::start(command, job.path(&format!("{name}.log")))
}

#[test]
#[ignore = "nightly"]
fn a_device_that_is_lost_in_mid_run_blames_no_sample() {
    let expected = undisturbed();
    let job = held_job(20, "listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"\n");
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let start = |name: &str, lost: &str| {
        let worker = start(&job, &address, name, ("COMPASS_FAULT_LOST", job.path(lost).as_os_str()));
        wait_until("the worker is welcomed", || worker.said().contains("welcomed").then_some(()));
        worker
    };
    let failing = start("failing", "lost");
    job.wait_until_durable();
    let sound = start("sound", "never");
    job.write("lost", "");
    job.gate().open();
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert_same(&job, &expected);
    let facts = job.facts();
    let barred = facts["barred"].as_array().unwrap();
    assert_eq!(barred.len(), 1, "{facts}");
    assert_eq!((barred[0]["worker"].as_str(), barred[0]["kind"].as_str()), (Some("failing"), Some("device")));
    assert!(barred[0]["reason"].as_str().unwrap().starts_with("the engine's device is gone"), "{facts}");
    let log = job.log("failing.log");
    assert!(log.contains("CUDA error: unknown error"), "{log}");
    assert!(!log.contains("sample given up"), "{log}");
    assert!(facts["workers"]["sound"]["results"].as_u64().unwrap() > 0, "{facts}");
    drop((failing, sound));
}

/// The prompts that have no room on a small worker: 11, and 110 to 119.
const LARGE: &str = "What is 11";

#[test]
fn samples_that_have_no_room_on_one_worker_are_run_by_another() {
    let quiet = echo_job("", "");
    quiet.run(&[]).expect(0);
    let expected = (quiet.tree("results"), quiet.tree("predictions"));
    let whole = quiet.facts()["tokens"]["submitted"].as_u64().unwrap();
    let job = echo_job("listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"\n");
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let start = |name: &str, no_room: &str| start(&job, &address, name, ("COMPASS_FAULT_NO_ROOM", OsStr::new(no_room)));
    let small = start("small", LARGE);
    wait_until("the small worker gives samples back", || {
        job.log("master.log").contains("worker small has no room for samples of echo").then_some(())
    });
    let large = start("large", "");
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert_same(&job, &expected);
    let facts = job.facts();
    assert!(facts["workers"]["small"]["results"].as_u64().unwrap() > 0, "{facts}");
    assert!(facts["workers"]["large"]["results"].as_u64().unwrap() >= 22, "{facts}");
    assert_eq!((&facts["violations"], &facts["reports_not_compared"]), (&0.into(), &0.into()), "{facts}");
    // What was done of a task before some of it went back is counted.
    let tokens = &facts["tokens"];
    let (submitted, computed) = (tokens["submitted"].as_u64().unwrap(), tokens["computed"].as_u64().unwrap());
    assert!(submitted == computed && submitted >= whole, "{submitted} tokens of {whole}: {facts}");
    drop((small, large));
}

#[test]
#[ignore = "nightly"]
fn samples_that_have_no_room_anywhere_fail_at_the_end_and_are_run_when_there_is_room() {
    let expected = undisturbed();
    let mut job = echo_job("", "");
    job.set_env("COMPASS_FAULT_NO_ROOM", LARGE);
    let done = job.run(&["--max-num-workers", "2"]).expect(1);
    for dataset in ["choice_ppl", "answer_gen"] {
        let failed = &job.result("echo", dataset)["failed_samples"];
        let failed = failed.as_object().unwrap_or_else(|| panic!("{failed}: {}", done.stderr));
        let rows = (0..120).filter(|row| *row == 11 || *row >= 110).map(|row| row.to_string());
        let mut named: Vec<String> = failed.keys().cloned().collect();
        named.sort_by_key(|row| row.parse::<u32>().ok());
        assert_eq!(named, rows.collect::<Vec<_>>(), "{}", done.stderr);
        assert!(failed.values().all(|why| why.as_str().unwrap().starts_with("not enough memory for ")), "{failed:?}");
    }
    job.set_env("COMPASS_FAULT_NO_ROOM", "");
    job.run(&["--max-num-workers", "2", "-r"]).expect(0);
    assert_same(&job, &expected);
}
