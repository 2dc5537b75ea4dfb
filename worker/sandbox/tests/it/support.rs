//! Sandboxes under test, and the prelude of test programs.

use compass_plan as plan;
use compass_sandbox::{Isolation, Limits, Policy, Program, ProgramOutcome, Sandbox, Stage};
use std::fs;
use std::time::Duration;

/// Returns one sandbox for each isolation that works on this machine; reports the others.
pub(crate) async fn sandboxes() -> Vec<Sandbox> {
    let mut found = Vec::new();
    for isolation in Isolation::SAFE {
        found.extend(sandbox(isolation).await);
    }
    found
}

pub(crate) async fn sandbox(isolation: Isolation) -> Option<Sandbox> {
    let policy = Policy { isolations: vec![isolation], ..Policy::default() };
    match Sandbox::detect(&policy).await {
        Ok(sandbox) => Some(sandbox),
        Err(refusal) => {
            // A missing isolation is skipped; one that leaks is a failure.
            assert!(!refusal.to_string().contains("does not contain"), "{refusal}");
            compass_needs::skipped(compass_needs::Need::Sandbox, format_args!("{isolation}: {refusal}"));
            None
        }
    }
}

/// `refused(attempt)` passes when the attempt raises what the system raises.
const PRELUDE: &str = r#"
import os, sys, time
def refused(attempt):
    try:
        got = attempt()
    except OSError:
        return
    raise AssertionError("was not refused: %r" % (got,))
def write(path, mode="w"):
    with open(path, mode) as file:
        file.write("x")
def contained():
    # Before a program does what would hurt the machine if nothing held it.
    if os.getuid() == 0:
        raise SystemExit("runs as root")
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        names = []
    if len(names) > 20:
        raise SystemExit("sees the host's processes")
"#;

/// Limits that are wide enough for a busy machine.
pub(crate) fn patient() -> Limits {
    Limits { wall: Duration::from_secs(60), ..Limits::default() }
}

pub(crate) fn program(source: &str) -> Program {
    Program::new(format!("{PRELUDE}{source}")).within(patient())
}

/// Builds a benchmark's program as jobs do.
pub(crate) fn planned(program: plan::Program) -> Program {
    let stage = |stage: plan::Stage| Stage { source: stage.source, type_aware: stage.type_aware };
    Program { stages: program.stages.into_iter().map(stage).collect(), limits: patient() }
}

/// Runs the program in each sandbox and expects it to pass, which it does only when every attempt in it is rejected.
pub(crate) async fn contained(source: &str) {
    for sandbox in sandboxes().await {
        let outcome = sandbox.run(&program(source)).await;
        assert_eq!(outcome, ProgramOutcome::Passed, "{}: {source}", sandbox.isolation());
        goes_on(&sandbox).await;
    }
}

/// Checks that the next program still runs.
pub(crate) async fn goes_on(sandbox: &Sandbox) {
    assert_eq!(sandbox.run(&program("assert 1 + 1 == 2")).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
}

/// Number of processes on this machine whose command line contains `mark`.
pub(crate) fn processes_with(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}
