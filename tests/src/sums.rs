//! Questions that tests ask of the demo's model: which of two numbers is larger, and their sum.

use std::fmt::Write as _;

/// The larger of two numbers, by the likelihood of each; ROWS stands for the file of the rows.
const CHOICES: &str = r#"
[[dataset]]
abbr = "choices"
reader_cfg = { input_columns = ["a", "b"], output_column = "label" }
[dataset.test]
path = "ROWS"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "ppl"
[dataset.infer_cfg.prompt_template]
0 = "Larger of {a} and {b}: {a}"
1 = "Larger of {a} and {b}: {b}"
[dataset.eval_cfg]
evaluator = "acc"
"#;

/// Their sum, generated; LENGTH stands for the longest answer.
const ANSWERS: &str = r#"
[[dataset]]
abbr = "answers"
reader_cfg = { input_columns = ["a", "b"], output_column = "sum" }
[dataset.test]
path = "ROWS"
[dataset.infer_cfg]
retriever = "zero"
inferencer = { type = "gen", max_out_len = LENGTH }
prompt_template = "{a} + {b} ="
[dataset.eval_cfg]
evaluator = "em"
"#;

/// The data set `choices`, with rows from `path`.
pub fn choices(path: &str) -> String {
    CHOICES.replace("ROWS", path)
}

/// The data set `answers`, with rows from `path` and at most this many tokens.
pub fn answers(path: &str, max_out_len: u32) -> String {
    ANSWERS.replace("ROWS", path).replace("LENGTH", &max_out_len.to_string())
}

/// This many rows of both.
pub fn rows(count: usize) -> String {
    let mut rows = String::new();
    for at in 0..count {
        let (a, b) = (at % 97, at * 7 % 89);
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"a": {a}, "b": {b}, "sum": "{}", "label": {}}}"#, a + b, usize::from(b > a));
    }
    rows
}
