//! A few histories of two masters, three workers, three members of etcd and bad wires: see the program `chaos`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::process::Command;

fn survives(arguments: &[&str], differences: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_chaos")).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    // Where etcd or Slurm is missing it reports that, and plays nothing.
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.is_empty() || last == differences, "{said}");
}

#[test]
#[ignore = "nightly"]
fn three_histories_on_the_echo_engine() {
    survives(&["--runs", "3", "--seed", "1"], "runs: 3, differences: 0");
}

#[test]
#[ignore = "nightly"]
fn three_histories_of_servers_with_slurm() {
    survives(&["--runs", "3", "--seed", "104", "--model", "served"], "runs: 3, differences: 0");
}

#[cfg(feature = "engine")]
#[test]
#[ignore = "nightly"]
fn one_history_on_the_demo_model() {
    survives(&["--runs", "1", "--seed", "4", "--model", "demo"], "runs: 1, differences: 0");
}
