//! The dispatch bench runs to its end, on either store; what it measures is for people.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::process::Command;

fn measures(store: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-dispatch"));
    let output = command.args(["--small", "--store", store]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}");
    // Where etcd is missing it reports that, and measures nothing.
    eprint!("{complaints}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.is_empty() && store == "etcd" || last.starts_with("tasks/s: "), "{said}");
    assert!(
        last.is_empty() || complaints.contains("0 tasks open") && complaints.contains("0 rules broken"),
        "{complaints}"
    );
}

#[test]
#[ignore = "nightly"]
fn every_task_becomes_durable_in_the_embedded_store() {
    measures("embedded");
}

#[test]
#[ignore = "nightly"]
fn every_task_becomes_durable_in_etcd() {
    measures("etcd");
}
