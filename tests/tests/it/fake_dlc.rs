//! The stand-in for `dlc` does as the real one is known to do.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use compass_tests::{program, wait_until};
use std::process::{Command, Output, Stdio};

struct Dlc(tempfile::TempDir);

impl Dlc {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, words: &[&str]) -> (bool, String) {
        let mut command = Command::new(program("fake-dlc"));
        command.env("FAKE_DLC_STATE", self.0.path()).args(words).stdin(Stdio::null());
        let Output { status, stdout, .. } = command.output().unwrap();
        (status.success(), String::from_utf8(stdout).unwrap())
    }

    fn submit(&self, command: &str) -> (bool, String) {
        self.run(&[
            "submit",
            "pytorchjob",
            "--command",
            command,
            "--name",
            "n",
            "--workspace_id",
            "w",
            "--resource_id=r",
            "--priority",
            "1",
            "--workers",
            "1",
            "--worker_cpu",
            "12",
            "--worker_gpu",
            "0",
            "--worker_memory",
            "192Gi",
            "--worker_image",
            "i",
            "--data_sources=a,b",
            "--enable_priority_preemption=False",
        ])
    }

    fn id(&self, command: &str) -> String {
        let (submitted, table) = self.submit(command);
        assert!(submitted, "{table}");
        let cell = table.split('|').map(str::trim).find(|cell| cell.starts_with("dlc"));
        cell.unwrap_or_else(|| panic!("no table: {table}")).to_owned()
    }

    fn status(&self, id: &str) -> String {
        let (_, text) = self.run(&["get", "job", id]);
        let job: serde_json::Value = serde_json::from_str(&text).unwrap();
        job["Status"].as_str().unwrap().to_owned()
    }

    fn until(&self, id: &str, status: &str) {
        wait_until(&format!("the job is {status}"), || (self.status(id) == status).then_some(()));
    }
}

#[test]
#[ignore = "nightly"]
fn a_job_runs_and_leaves_its_log() {
    let dlc = Dlc::new();
    let (good, bad) = (dlc.id("echo \"it's $((1+1))\"; echo err >&2"), dlc.id("exit 3"));
    dlc.until(&good, "Succeeded");
    dlc.until(&bad, "Failed");
    let pod = format!("{good}-master-0");
    wait_until("both lines are in the log", || {
        let (_, log) = dlc.run(&["logs", &good, &pod]);
        (log.contains("it's 2\n") && log.contains("err\n")).then_some(())
    });
    let (_, before) =
        dlc.run(&["logs", &good, &pod, "--start_time", "2001-01-01T00:00:00Z", "--end_time", "2001-01-02T00:00:00Z"]);
    assert_eq!(before, "[WARN] No logs found for the pod\n");
}

#[test]
#[ignore = "nightly"]
fn stopping_wants_to_be_forced_and_works_once() {
    let dlc = Dlc::new();
    let id = dlc.id("sleep 100000");
    dlc.until(&id, "Running");
    let (stopped, asked) = dlc.run(&["stop", "job", &id]);
    assert!(!stopped && asked.contains("Are you sure"), "{asked}");
    assert_eq!(dlc.status(&id), "Running");
    assert_eq!(
        dlc.run(&["stop", "job", &id, "--force"]),
        (true, format!("[OK] Job [{id}] was stopped successfully\n"))
    );
    assert_eq!(dlc.status(&id), "Stopped");
    let (again, refused) = dlc.run(&["stop", "job", &id, "--force"]);
    assert!(
        !again && refused.starts_with("[FAILED] code: 400, Job can't be stopped, because it is Stopped"),
        "{refused}"
    );
}

#[test]
#[ignore = "nightly"]
fn what_the_real_one_refuses_is_refused() {
    let dlc = Dlc::new();
    for words in [
        &["submit", "tfjob"][..],
        &["submit", "pytorchjob", "--command", "x"],
        &["submit", "pytorchjob", "--worker_count", "1"],
        &["create", "job", "--kind", "PyTorchJob", "--workers", "1"],
        &["get", "job", "dlc404"],
        &["stop", "job", "dlc404", "--force"],
        &["frobnicate"],
    ] {
        let (done, text) = dlc.run(words);
        assert!(!done && text.starts_with("[FAILED]"), "{words:?}: {text}");
    }
}

#[test]
#[ignore = "nightly"]
fn faults_are_those_that_are_asked_for() {
    let dlc = Dlc::new();
    std::fs::write(dlc.0.path().join("faults"), "submit_400=1\nno_table=1\ngarbage=1\nget_fails=1\npreempt=1\n")
        .unwrap();
    assert!(dlc.submit("true").1.starts_with("[FAILED] code: 400"));
    let (_, nothing) = dlc.submit("true");
    assert!(!nothing.contains('|'), "{nothing}");
    let id = dlc.id("sleep 100000");
    assert!(dlc.run(&["get", "job", &id]).1.starts_with("[FAILED] code: 503"));
    assert!(dlc.run(&["get", "job", &id]).1.starts_with("[OK]"));
    wait_until("it is preempted", || {
        let (_, text) = dlc.run(&["get", "job", &id]);
        (text.contains("\"Stopped\"") && text.contains("JobPreempted")).then_some(())
    });
}
