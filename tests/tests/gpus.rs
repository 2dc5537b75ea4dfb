//! A device that fails, as a job meets it. That results of a CPU keep workers on GPUs out, and the reverse, is a rule for models
//! with weights, which the echo engine has not: `device_types.rs` has it.

use compass_tests::{Worker, assert_same, echo_job, told_address, undisturbed, wait_until, worker_command};

#[test]
fn a_device_that_is_lost_in_mid_run_blames_no_sample() {
    let expected = undisturbed();
    let job = echo_job(15, "listen = \"127.0.0.1:0\"", "[infer.runner]\ntype = \"none\"\n");
    let master = job.start_logged(&[], "master.log");
    let address = told_address(&job, "master.log");
    let start = |name: &str, lost: &str| {
        let mut command = worker_command(&address, &job.path("home"));
        command.args(["--name", name, "--slots", "1", "--no-sandbox"]);
        command.env("COMPASS_ECHO_DELAY_MS", "15").env("COMPASS_ECHO_LOST", job.path(lost));
        let worker = Worker::start(command, job.path(&format!("{name}.log")));
        wait_until("the worker is welcomed", || worker.said().contains("welcomed").then_some(()));
        worker
    };
    let failing = start("failing", "lost");
    job.wait_until_durable();
    let sound = start("sound", "never");
    job.write("lost", "");
    assert_eq!(master.finish().code, Some(0), "{}", job.log("master.log"));
    assert_same(&job, &expected);
    let facts = job.facts();
    let barred = facts["barred"].as_array().unwrap();
    assert_eq!(barred.len(), 1, "{facts}");
    assert_eq!((barred[0]["worker"].as_str(), barred[0]["kind"].as_str()), (Some("failing"), Some("device")));
    assert!(barred[0]["reason"].as_str().unwrap().starts_with("the echo engine's device is gone"), "{facts}");
    let log = job.log("failing.log");
    assert!(log.contains("CUDA error: unknown error"), "{log}");
    assert!(!log.contains("sample given up"), "{log}");
    assert!(facts["workers"]["sound"]["results"].as_u64().unwrap() > 0, "{facts}");
    drop((failing, sound));
}
