//! `compass-worker sandbox` on the command line.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its fixtures too")]

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

fn sandbox(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_compass-worker")).arg("sandbox").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn check_names_working_isolations_and_why_others_fail() {
    let output = sandbox(&["--check"]);
    let report = text(&output.stdout);
    for isolation in ["bubblewrap", "landlock"] {
        let line = report.lines().find(|line| line.contains(isolation));
        let told = line.is_some_and(|line| line.starts_with("works") || line.starts_with("refused"));
        assert!(told, "{report}{}", text(&output.stderr));
    }
    // Each working isolation is listed with its limits.
    let working = report.lines().filter(|line| line.starts_with("works")).count();
    let bounds = report.lines().filter(|line| {
        let told = line.strip_prefix("         memory and processes: ").unwrap_or_default();
        told.starts_with("by control groups in /") || told.starts_with("counted 50 times a second; no control group: ")
    });
    assert_eq!(bounds.count(), working, "{report}");
    let works = report.lines().any(|line| line.starts_with("works") && line.ends_with("[used]"));
    assert_eq!(output.status.code(), Some(if works { 0 } else { 3 }), "{report}");
}

#[test]
fn run_prints_the_outcome_and_sets_the_exit_code() {
    if sandbox(&["--check"]).status.code() != Some(0) {
        compass_needs::skipped(compass_needs::Need::Sandbox, "no isolation works on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (source, outcome, code) in [
        ("assert 1 + 1 == 2", "passed", 0),
        ("assert 1 + 1 == 3, 'wrong'", "failed: AssertionError: wrong", 1),
        ("import sys\nsys.exit(0)", "failed: SystemExit: 0", 1),
        ("raise ValueError('\\x1b[2J')", "failed: ValueError: \\u{1b}[2J", 1),
        ("import os\nos.kill(os.getpid(), 9)", "failed: killed by signal 9", 1),
    ] {
        let file = folder.path().join("program.py");
        fs::write(&file, source).unwrap();
        let output = sandbox(&["run", "--timeout", "1m", file.to_str().unwrap()]);
        let printed = (text(&output.stdout), output.status.code());
        assert_eq!(printed, (format!("{outcome}\n"), Some(code)), "{source}: {}", text(&output.stderr));
    }
    let file = folder.path().join("program.py");
    fs::write(&file, "while True: pass").unwrap();
    let output = sandbox(&["run", "--timeout", "1s", file.to_str().unwrap()]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("timed out\n", Some(1)));
}

#[test]
fn program_ends_with_a_killed_worker() {
    if sandbox(&["--check"]).status.code() != Some(0) {
        compass_needs::skipped(compass_needs::Need::Sandbox, "no isolation works on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, mark) = (folder.path().join("program.py"), format!("31538.{}", std::process::id()));
    fs::write(&file, format!("import os\nos.execv('/usr/bin/sleep', ['sleep', '{mark}'])")).unwrap();
    let mut worker = Command::new(env!("CARGO_BIN_EXE_compass-worker"))
        .args(["sandbox", "run", "--timeout", "1h", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    until(|| runs(&mark), "the program runs");
    worker.kill().unwrap();
    worker.wait().unwrap();
    until(|| !runs(&mark), "the program has ended");
}

fn runs(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| text(&line).contains(mark))
}

fn until(holds: impl Fn() -> bool, what: &str) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "polls /proc; what it waits for is a process")]
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited a minute for: {what}");
}

#[test]
fn wrong_usage_is_explained() {
    for (arguments, hint) in [
        (vec![], "--check"),
        (vec!["run", "/nowhere/program.py"], "/nowhere/program.py"),
        (vec!["run", "x.py", "--timeout", "3"], "90s, 10m or 2h"),
    ] {
        let output = sandbox(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(hint), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn error_names_a_missing_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program.py");
    fs::write(&file, "pass").unwrap();
    let output = sandbox(&["run", "--python", "/nowhere/python3", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("/nowhere/python3"), "{}", text(&output.stderr));
}
