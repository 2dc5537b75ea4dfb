//! `bench-estimate`: how far `--estimate` is from what a second run takes.
//!
//! `--jobs N` (10) jobs of the demo's model, each with data sets of its own; each runs, is estimated, and runs again. Prints the time of
//! slots as it was estimated and as it was, and the median of the relative errors. Exit code 1 where that is more than 0.2.

use compass_tests::{Job, Table, copy_demo_model};
use std::fmt::Write as _;
use std::process::ExitCode;

const MOST: f64 = 0.2;
/// Samples of a job's data sets are these times its number, and some.
const SAMPLES: u32 = 400;

fn jobs() -> Option<u32> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => Some(10),
        [flag, number] if flag == "--jobs" => number.parse().ok().filter(|jobs| *jobs > 0),
        _ => None,
    }
}

/// A job of two data sets, one of choices and one of answers.
fn job(number: u32) -> std::io::Result<Job> {
    let job = Job::new(
        r#"
[[model]]
abbr = "demo"
path = "model"
[[dataset]]
abbr = "choice"
reader_cfg = { input_columns = ["q"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "ppl", prompt_template = { 0 = "{q} more", 1 = "{q} less" } }
eval_cfg = { evaluator = "acc" }
[[dataset]]
abbr = "answer"
reader_cfg = { input_columns = ["q"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 16 }, prompt_template = "{q} " }
eval_cfg = { evaluator = "em" }
"#,
    );
    copy_demo_model(&job.path("model"))?;
    let mut rows = String::new();
    for at in 0..SAMPLES + 50 * number {
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            r#"{{"q": "In case {number} of {at}, are there{}", "label": {}}}"#,
            " very".repeat(number as usize),
            at % 2
        );
    }
    job.write("rows.jsonl", &rows);
    Ok(job)
}

/// Seconds of slots of the latest run.
fn busy(job: &Job) -> f64 {
    let facts = job.facts();
    let workers = facts["workers"].as_object().into_iter().flat_map(|workers| workers.values());
    workers.filter_map(|worker| worker["busy_seconds"].as_f64()).sum()
}

/// Seconds that the text says, as `2m 05s (1m 50s to 2m 20s)`.
fn estimated(said: &str) -> Option<f64> {
    let time = said.split_once("once weights are loaded: ")?.1.split_once(" (")?.0;
    let seconds = time.split(' ').map(|word| {
        let (number, unit) = word.split_at(word.len().checked_sub(1)?);
        let unit = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * unit)
    });
    seconds.sum()
}

fn main() -> ExitCode {
    let Some(jobs) = jobs() else {
        eprintln!("usage: bench-estimate [--jobs N]");
        return ExitCode::from(2);
    };
    let mut table = Table::new(&["job", "first s", "estimated s", "second s", "error"]);
    let mut errors = Vec::new();
    for number in 0..jobs {
        let job = match job(number) {
            Ok(job) => job,
            Err(error) => {
                eprintln!("bench-estimate: cannot copy the model: {error}");
                return ExitCode::FAILURE;
            }
        };
        job.run(&["--max-num-workers", "1"]).expect(0);
        let first = busy(&job);
        let said = job.run(&["--estimate", "--max-num-workers", "1"]).expect(0).stdout;
        assert!(said.contains("a run on cpu"), "{said}");
        job.run(&["--max-num-workers", "1"]).expect(0);
        let second = busy(&job);
        let Some(estimated) = estimated(&said) else {
            eprintln!("bench-estimate: no time in {said}");
            return ExitCode::FAILURE;
        };
        let error = (estimated - second).abs() / second;
        errors.push(error);
        table.row([
            number.to_string(),
            format!("{first:.2}"),
            format!("{estimated:.0}"),
            format!("{second:.2}"),
            format!("{error:.3}"),
        ]);
    }
    errors.sort_by(f64::total_cmp);
    let median = errors[errors.len() / 2];
    print!("{table}");
    println!("median error {median:.3}");
    if median <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
