//! Data sets whose rows ask the same: each request is computed once and recorded for every sample that asks it, whatever
//! dies; where tokens are drawn, each sample is computed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_common::words::grouped;
use compass_tests::Job;
use serde_json::Value;
use std::fmt::Write as _;

const ROWS: usize = 400;
const PROMPTS: usize = 20;
/// Requests of the two models: one scores and continues each prompt, the other scores each prompt and draws for every row.
const REQUESTS: usize = 3 * PROMPTS + 2 * ROWS;

/// Two models, one of which draws tokens; prompts that are scored, continued, and continued once more for another metric.
const CONFIG: &str = r#"
[[model]]
abbr = "echo"
type = "echo"

[[model]]
abbr = "drawing"
type = "echo"
generation_kwargs = { do_sample = true }

[[dataset]]
abbr = "choice"
reader_cfg = { input_columns = ["q"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "ppl", prompt_template = { A = "{q} A", B = "{q} B" } }
eval_cfg = { evaluator = "acc" }

[[dataset]]
abbr = "answer"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 8 }, prompt_template = "{q}" }
eval_cfg = { evaluator = "em" }

[[dataset]]
abbr = "again"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 8 }, prompt_template = "{q}" }
eval_cfg = { evaluator = "rouge" }
"#;

/// Rows with `PROMPTS` different questions, in an order that no task keeps together; gold answers are each row's own.
fn rows(count: usize) -> String {
    (0..count).fold(String::new(), |mut rows, row| {
        let (prompt, label) = (row * 7 % PROMPTS, ["A", "B"][row / 3 % 2]);
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": "What is {prompt}?", "a": "it is {row}", "label": "{label}"}}"#);
        rows
    })
}

fn job(rows_of: usize) -> Job {
    let mut job = Job::new(CONFIG);
    job.write("rows.jsonl", &rows(rows_of));
    job.set_env("COMPASS_FAULT_TRACE", job.path("trace").to_str().unwrap());
    job
}

fn traced(job: &Job) -> usize {
    job.log("trace").lines().count()
}

/// A run that nothing disturbs.
fn undisturbed() -> Job {
    let job = job(ROWS);
    job.run(&["--max-num-workers", "2"]).expect(0);
    job
}

#[test]
fn equal_requests_of_a_job_are_computed_once_and_recorded_for_every_sample() {
    let (whole, distinct) = (undisturbed(), job(PROMPTS));
    distinct.run(&[]).expect(0);
    assert_eq!(traced(&whole), REQUESTS);
    let facts = whole.facts();
    assert_eq!(facts["recorded_samples"], 6 * ROWS, "{facts}");
    assert_eq!(facts["duplicate_samples"], 6 * ROWS - REQUESTS, "{facts}");
    // The distinct rows alone, where every sample is computed, give each of them the same.
    for (model, dataset) in [("echo", "choice"), ("echo", "answer"), ("echo", "again"), ("drawing", "choice")] {
        let (found, expected) = (whole.predictions(model, dataset), distinct.predictions(model, dataset));
        assert_eq!(found.as_object().unwrap().len(), ROWS);
        for row in 0..ROWS {
            let without_gold = |record: &Value| {
                let mut record = record.as_object().unwrap().clone();
                assert!(record.shift_remove("gold").is_some(), "{record:?}");
                record.shift_remove("correct");
                record
            };
            let (found, expected) = (&found[row.to_string()], &expected[(row % PROMPTS).to_string()]);
            assert_eq!(without_gold(found), without_gold(expected), "{model}/{dataset} {row}");
        }
        let result = whole.result(model, dataset);
        assert_eq!((&result["scored"], &result["failed"]), (&ROWS.into(), &0.into()), "{result}");
    }
    let golds: Vec<Value> =
        (0..ROWS).map(|row| whole.predictions("echo", "answer")[row.to_string()]["gold"].clone()).collect();
    assert_eq!(golds, (0..ROWS).map(|row| Value::from(format!("it is {row}"))).collect::<Vec<_>>());
}

#[test]
#[ignore = "nightly"]
fn the_list_of_tasks_says_what_is_not_computed() {
    let job = job(ROWS);
    let listing = job.run(&["--dry-run"]).expect(0).stdout;
    let (all, left_out) = (grouped(6 * ROWS as u64), grouped((6 * ROWS - REQUESTS) as u64));
    let said =
        format!("{all} samples, {left_out} of which repeat the request of another and are recorded with its result");
    assert!(listing.contains(&said), "{listing}");
    let in_tasks = listing.lines().filter_map(|line| line.strip_prefix("task ")?.split_once(": ")?.1.split(' ').next());
    assert_eq!(in_tasks.map(|count| count.parse::<usize>().unwrap()).sum::<usize>(), REQUESTS, "{listing}");
}
