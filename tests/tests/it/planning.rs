//! Memory and disk that planning takes: a file is held once as text, whatever becomes of its rows, and the plan is compressed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, peak_rss_mib, told_address};
use std::fmt::Write as _;

/// A job of `rows` rows of about `bytes` bytes each.
fn job(rows: usize, bytes: usize) -> Job {
    let job = Job::new(CONFIGURATION);
    let mut text = String::new();
    for at in 0..rows {
        let question = format!("what comes after {at}? ").repeat(bytes / 24);
        // Writing to a string cannot fail.
        let _ = writeln!(text, r#"{{"q": "{question}", "a": "{}"}}"#, at + 1);
    }
    job.write("rows.jsonl", &text);
    job
}

const CONFIGURATION: &str = r#"
[[model]]
abbr = "echo"
type = "echo"

[[dataset]]
abbr = "big"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 8 }, prompt_template = "Q: {q}\nA:" }
eval_cfg = { evaluator = "em" }
"#;

/// The most memory that planning took, in MiB: what the kernel noted of a master that has planned and waits for workers.
fn peak(job: &Job) -> f64 {
    job.configure(&format!("\n[master]\nlisten = \"127.0.0.1:0\"\n{CONFIGURATION}\n[infer.runner]\ntype = \"none\"\n"));
    let master = job.start_logged(&[], "master.log");
    told_address(job, "master.log");
    peak_rss_mib(master.pid()).unwrap()
}

#[test]
#[ignore = "nightly"]
fn a_file_takes_less_than_twice_its_size() {
    let (empty, full) = (job(1, 480), job(80_000, 480));
    let size = std::fs::metadata(full.path("rows.jsonl")).unwrap().len() as f64 / f64::from(1 << 20);
    let (idle, taken) = (peak(&empty), peak(&full));
    println!("a file of {size:.0} MiB: {:.0} MiB more than one of a row ({idle:.0} MiB)", taken - idle);
    assert!(size > 30.0 && taken - idle < 2.0 * size, "{size:.0} MiB: from {idle:.0} to {taken:.0} MiB");
}

/// Rows so short that what is known of each counts.
#[test]
#[ignore = "nightly"]
fn a_million_short_rows_fit_into_300_megabytes() {
    if std::env::var_os("COMPASS_FULL").is_none() {
        eprintln!("skipped: a million rows are planned with COMPASS_FULL=1, which deploy/test.sh --full sets");
        return;
    }
    let taken = peak(&job(1_000_000, 72)) * f64::from(1 << 20) / 1e6;
    assert!(taken <= 300.0, "{taken:.0} MB");
}

#[test]
#[ignore = "nightly"]
fn the_plan_is_smaller_than_the_file_and_workers_get_it_whole() {
    let job = job(3_000, 480);
    job.run(&[]).expect(0);
    let parts: Vec<_> = std::fs::read_dir(job.latest().join("plan/parts")).unwrap().map(|part| part.unwrap()).collect();
    assert!(parts.iter().all(|part| part.path().extension().is_some_and(|end| end == "zst")));
    let bytes: u64 = parts.iter().map(|part| part.metadata().unwrap().len()).sum();
    let file = std::fs::metadata(job.path("rows.jsonl")).unwrap().len();
    assert!(bytes * 3 < file, "{bytes} bytes of a file of {file}");
    // A run of a version that stored its parts uncompressed continues.
    for part in &parts {
        let name = part.path().with_extension("");
        let content = compass_plan::unpack(&std::fs::read(part.path()).unwrap()).unwrap();
        std::fs::write(name, content).unwrap();
        std::fs::remove_file(part.path()).unwrap();
    }
    let again = job.run(&["-r"]).expect(0);
    assert!(again.stderr.contains("3,000 of 3,000 samples"), "{}", again.stderr);
}
