//! A job on the echo engine: three kinds of requests, no libtorch, and a gate, so that kills hit between two samples.

use crate::job::Job;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Samples of each of the two data sets.
pub const SAMPLES: u32 = 120;

const DATASETS: &str = r#"
[[model]]
abbr = "echo"
type = "echo"

[[dataset]]
abbr = "choice_ppl"
reader_cfg = { input_columns = ["q", "a", "b"], output_column = "label" }
[dataset.test]
path = "rows.jsonl"
[dataset.train]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = { type = "fix_k", ids = [0, 1] }
inferencer = "ppl"
[dataset.infer_cfg.ice_template]
0 = "{q} {a}"
1 = "{q} {b}"
[dataset.infer_cfg.prompt_template]
0 = "Header\n</E>{q} {a}"
1 = "Header\n</E>{q} {b}"
[dataset.eval_cfg]
evaluator = "acc"

[[dataset]]
abbr = "answer_gen"
reader_cfg = { input_columns = ["q"], output_column = "a" }
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = { type = "gen", max_out_len = 8 }
prompt_template = "{q}"
[dataset.eval_cfg]
evaluator = "em"
"#;

/// As [`echo_job`], held once this many samples have begun.
pub fn held_job(samples: u64, master: &str, infer: &str) -> Job {
    let mut job = echo_job(master, infer);
    job.hold_after(samples);
    job
}

/// The job; `master` is the body of its `[master]` table, `infer` that of `[infer]` and what is below.
pub fn echo_job(master: &str, infer: &str) -> Job {
    let job = Job::new(&configuration(master, infer));
    let mut rows = String::new();
    for at in 0..SAMPLES {
        let label = at % 2;
        // Writing to a string cannot fail.
        let _ =
            writeln!(rows, r#"{{"q": "What is {at}?", "a": "one of {at}", "b": "two é of {at}", "label": {label}}}"#);
    }
    job.write("rows.jsonl", &rows);
    job
}

/// The configuration of [`echo_job`].
pub fn configuration(master: &str, infer: &str) -> String {
    format!("\n[master]\n{master}\n{DATASETS}\n{infer}\n")
}

/// Every file of a folder, with its bytes.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// `results/` and `predictions/` of a run of [`echo_job`] that nothing disturbed, on the embedded store.
pub fn undisturbed() -> (Tree, Tree) {
    let job = echo_job("", "");
    job.run(&[]).expect(0);
    (job.tree("results"), job.tree("predictions"))
}

/// Fails unless the job's latest run wrote these bytes.
pub fn assert_same(job: &Job, expected: &(Tree, Tree)) {
    assert_eq!(job.tree("results"), expected.0);
    assert_eq!(job.tree("predictions"), expected.1);
}
