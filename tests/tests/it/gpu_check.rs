//! `gpu-check` on the CPU: the program that a GPU is measured with, on small amounts.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{children_of, is_alive, kill, program, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program("compass-worker"));
    command.arg("gpu-check").args(arguments).env_remove("CUDA_VISIBLE_DEVICES");
    command
}

fn gpu_check(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "nightly"]
fn every_section_runs_on_the_cpu_and_claims_no_more_than_it_measures() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("check.json");
    let mut command = command(&["--cpu", "--json", file.to_str().unwrap()]);
    let output = command.env("COMPASS_PYTHON", "/nowhere/python3").output().unwrap();
    let (table, log) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{table}\n{log}");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&document["device"], &document["model"]), (&"cpu".into(), &"tiny".into()));
    let findings = document["findings"].as_array().unwrap();
    let of = |section: &str| findings.iter().filter(|finding| finding["section"] == section).collect::<Vec<_>>();
    for section in ["transformers", "out-of-memory"] {
        let rows = of(section);
        assert!(!rows.is_empty() && rows.iter().all(|row| row["status"] == "skipped"), "{section}: {rows:?}");
    }
    let job = of("job");
    let same = job.iter().find(|row| row["name"].as_str().unwrap().ends_with("its table and the CPU's")).unwrap();
    assert_eq!((&same["status"], &same["value"]), (&"passed".into(), &"equal".into()), "{job:?}");
    let score = job.iter().find(|row| row["name"] == "its table: choices_ppl").unwrap();
    let accuracy: f64 = score["value"].as_str().unwrap().parse().unwrap();
    assert!(accuracy > 20.0 && accuracy < 80.0, "a model of random weights guesses: {score}");
    let families = of("families");
    let passed = families.iter().filter(|row| row["status"] == "passed").count();
    assert_eq!((passed, families.len()), (30, 45), "{families:?}");
    let kernels = of("kernels");
    let judged = |row: &&&Value| row["status"] == "passed";
    assert_eq!((kernels.iter().filter(judged).count(), kernels.len()), (6, 10), "{kernels:?}");
    let invariance = of("invariance");
    assert_eq!(invariance.len(), 6, "{table}");
    for row in invariance {
        assert_eq!((&row["status"], &row["value"]), (&"passed".into(), &"equal".into()), "{row}");
    }
    for (section, unit) in [("gemm", "TFLOP/s"), ("prefill", "tokens/s"), ("decode", "tokens/s"), ("load", "s")] {
        let measured = of(section).iter().any(|row| row["unit"] == unit && row["value"].as_f64().unwrap() > 0.0);
        assert!(measured, "{section}: {table}");
    }
    // Goals of speed are for an H100.
    let judged_speed =
        |row: &&Value| row["goal"].as_str().unwrap_or_default().contains("H100") && row["status"] != "measured";
    assert!(!findings.iter().any(|row| judged_speed(&row)), "{table}");
    assert!(table.contains("goals: ") && table.contains(", 0 failed,"), "{table}");
}

#[test]
#[ignore = "nightly"]
fn a_machine_without_gpu_is_told_so_and_nothing_is_measured() {
    if Path::new("/dev/nvidiactl").exists() {
        eprintln!("skipped: this machine has a GPU");
        return;
    }
    let output = gpu_check(&["--random", "tiny", "--only", "environment,gemm,environment"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{table}");
    assert!(table.contains("`device = \"cuda\"` asks for one, and this machine"), "{table}");
    assert!(table.contains("goals: 0 passed, 1 failed, 0 not judged here; rows: 1 skipped"), "{table}");
    let last = table.lines().last().unwrap();
    assert!(last.starts_with("the device cannot be used: cannot run model `tiny` on a GPU: "), "{last}");
    assert!(last.ends_with("; help: use --cpu to compute on the CPU"), "{last}");
}

#[test]
#[ignore = "nightly"]
fn check_that_is_told_to_end_leaves_neither_processes_nor_files() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = command(&["--cpu", "--only", "job"]);
    let mut check =
        command.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let below = |processes: &[u32]| processes.iter().copied().flat_map(children_of).collect::<Vec<u32>>();
    let started = wait_until("an engine runs", || {
        let section = children_of(check.id());
        let master = below(&section);
        let worker = below(&master);
        let engine = below(&worker);
        (!engine.is_empty()).then(|| [section, master, worker, engine].concat())
    });
    kill(check.id(), "TERM");
    assert_eq!(check.wait().unwrap().code(), Some(143));
    wait_until("all that it started has ended", || (!started.iter().any(|&pid| is_alive(pid))).then_some(()));
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "nightly"]
fn wrong_words_are_answered_with_the_right_ones() {
    for (arguments, answer) in [
        (["--cpu", "--only", "gem"], "there is no section `gem`; there are environment, load"),
        (["--cpu", "--random", "llama-9b"], "there is no random model `llama-9b`; there are tiny, llama-1b, llama-8b"),
        (["--cpu", "--model", "/nowhere"], "there is no config.json in /nowhere"),
    ] {
        let output = gpu_check(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(answer), "{}", text(&output.stderr));
    }
}
