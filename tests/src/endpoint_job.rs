//! A job for a model behind a scripted endpoint.

use crate::Job;
use std::fmt::Write as _;

/// The key that the endpoint is asked with; nothing may hold it afterwards.
pub const ENDPOINT_KEY: &str = "sk-compass-0123456789abcdef";

/// A job of `samples` questions for a model whose endpoint at `url` has `keys` beside its address and name.
pub fn endpoint_job(url: &str, keys: &str, samples: u32) -> Job {
    let mut job = Job::new(&endpoint_configuration(url, keys));
    endpoint_rows(&job, samples, |at| format!("What is {at}"));
    job.set_env("COMPASS_TEST_ENDPOINT_KEY", ENDPOINT_KEY);
    job
}

/// The configuration of [`endpoint_job`].
pub fn endpoint_configuration(url: &str, keys: &str) -> String {
    format!(
        r#"
[[model]]
abbr = "served"
endpoint = {{ url = "{url}", model = "tiny"{keys} }}

[[dataset]]
abbr = "questions"
reader_cfg = {{ input_columns = ["q"], output_column = "a" }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = {{ type = "gen", max_out_len = 8 }}, prompt_template = "{{q}}" }}
eval_cfg = {{ evaluator = "em" }}
"#
    )
}

/// Writes rows whose gold answer is the scripted endpoint's.
pub fn endpoint_rows(job: &Job, samples: u32, question: impl Fn(u32) -> String) {
    let mut rows = String::new();
    for at in 0..samples {
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": "{}", "a": "the answer is {at}"}}"#, question(at));
    }
    job.write("rows.jsonl", &rows);
}

/// Returns the score of the data set in the job's table.
pub fn endpoint_score(job: &Job) -> Option<f64> {
    let result = job.result("served", "questions");
    result["score"].as_f64().or(result["accuracy"].as_f64())
}
