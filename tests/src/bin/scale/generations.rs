//! Generations with the demo's model: the echo engine computes nothing, and hides what only a model's answers show.

use compass_tests::{Job, RunFindings, demo_model, folder_digest};
use std::fmt::Write as _;

/// A job of `count` sums to be continued, all different, under `partitioner`.
pub(crate) fn job(count: u32, partitioner: &str) -> Job {
    let job = Job::new(&format!(
        r#"
[master]
listen = "127.0.0.1:0"

[[model]]
abbr = "demo"
type = "hf"
path = "{}"
max_seq_len = 512
max_out_len = 8

[[dataset]]
abbr = "sums"
reader_cfg = {{ input_columns = ["question"], output_column = "answer" }}
test = {{ path = "sums.jsonl" }}
[dataset.infer_cfg]
retriever = "zero"
inferencer = {{ type = "gen", max_out_len = 8, stopping_criteria = ["\n"] }}
prompt_template = "{{question}}"
[dataset.eval_cfg]
evaluator = "em"

[infer.runner]
type = "none"
[infer.partitioner]
type = "{partitioner}"
"#,
        demo_model().display()
    ));
    let mut rows = String::new();
    for number in 0..count {
        let (one, other) = (number % 200 + 1, number / 200 + 1);
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"question": "{one} + {other} =", "answer": "{}"}}"#, one + other);
    }
    job.write("sums.jsonl", &rows);
    job
}

/// Returns the outcome of its latest run. The model's answers to sums that it never learnt are not foreseen; the caller compares
/// whether all runs write the same.
pub(crate) fn outcome(job: &Job, count: u32) -> RunFindings {
    let (facts, result) = (job.facts(), job.result("demo", "sums"));
    let number = |key: &str| facts[key].as_u64().unwrap_or(u64::MAX);
    let mut outcome = RunFindings {
        scored: result["scored"].as_u64().unwrap_or(0),
        computed_per_distinct: facts["computed_per_distinct"].as_f64().unwrap_or(f64::NAN),
        violations: number("violations"),
        divergences: number("divergences"),
        results: Some(folder_digest(&job.latest().join("results"))),
        ..RunFindings::default()
    };
    for key in ["violations", "divergences", "repeats", "retries", "misfits"].into_iter().filter(|key| number(key) > 0)
    {
        outcome.faults.push(format!("logs/run.json: {key} is {}, not 0", facts[key]));
    }
    if (&result["expected"], &result["scored"], &result["failed"]) != (&count.into(), &count.into(), &0.into()) {
        outcome
            .faults
            .push(format!("{} of {} scored, {} failed", result["scored"], result["expected"], result["failed"]));
    }
    outcome
}
