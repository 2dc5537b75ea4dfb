//! Jobs of ordinary size with metrics that keep an item per sample: what a worker reports of thousands of samples is no
//! larger than what it reports of ten.

use compass_tests::Job;
use std::fmt::Write as _;

/// Rows of the data set: with fewer, the state of no metric outgrows a frame.
const ROWS: u32 = 12_000;

/// A generation data set, scored by an evaluator against the column `gold`. No other one asks what it asks.
fn generated(abbr: &str, gold: &str, evaluator: &str) -> String {
    format!(
        r#"
[[dataset]]
abbr = "{abbr}"
reader_cfg = {{ input_columns = ["q"], output_column = "{gold}" }}
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = {{ type = "gen", max_out_len = 8 }}
prompt_template = "{abbr}: {{q}}"
[dataset.eval_cfg]
evaluator = {evaluator}
"#
    )
}

/// A data set of two options.
fn chosen(abbr: &str, evaluator: &str) -> String {
    format!(
        r#"
[[dataset]]
abbr = "{abbr}"
reader_cfg = {{ input_columns = ["q", "a", "b"], output_column = "label" }}
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "loglikelihood"
[dataset.infer_cfg.prompt_template]
0 = "{{q}} {{a}}"
1 = "{{q}} {{b}}"
[dataset.eval_cfg]
evaluator = {evaluator}
"#
    )
}

/// A data set for each kind of item that a metric may keep of a sample.
fn datasets() -> Vec<(&'static str, String)> {
    let text = |abbr, gold, evaluator| (abbr, generated(abbr, gold, evaluator));
    vec![
        text("hits", "a", r#""em""#),
        text("score", "a", r#""squad""#),
        text("scores", "a", r#""rouge""#),
        text("counts", "a", r#""bleu""#),
        // Of few classes: an answer has no capital letter.
        text("classes", "letters", "\"mcc\"\npred_postprocessor = \"first_capital\""),
        text("members", "circular", r#""circular""#),
        text("weighted", "letters", r#"{ type = "gaokao", question = "multi_choice" }"#),
        ("ranked", chosen("ranked", r#""auc_roc""#)),
    ]
}

fn rows() -> String {
    let mut rows = String::new();
    for at in 0..ROWS {
        let (label, letter) = (at % 2, ["A", "B", "C", "D"][at as usize % 4]);
        let circular = format!("{}--{letter}--{}", at / 4, ["ABCD", "BCDA", "CDAB", "DABC"][at as usize % 4]);
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            r#"{{"q": "What is {at}?", "a": "one of {at}", "b": "two é of {at}", "label": {label}, "circular": "{circular}", "letters": "{letter}"}}"#
        );
    }
    rows
}

#[test]
#[ignore = "nightly"]
fn every_kind_of_metric_reports_of_thousands_of_samples() {
    let datasets = datasets();
    let all: String = datasets.iter().map(|(_, text)| text.as_str()).collect();
    let job = Job::new(&format!(
        "\n[[model]]\nabbr = \"echo\"\ntype = \"echo\"\n{all}\n[infer.partitioner]\ntype = \"naive\"\n"
    ));
    job.write("rows.jsonl", &rows());
    let finished = job.run(&["--max-num-workers", "2"]).expect(0);
    assert!(!finished.stderr.contains("cut off"), "{}", finished.stderr);
    for (abbr, _) in &datasets {
        let result = job.result("echo", abbr);
        assert_eq!(result["expected"], ROWS, "{abbr}");
        assert_eq!((&result["scored"], &result["failed"]), (&ROWS.into(), &0.into()), "{abbr}");
    }
    let facts = job.facts();
    assert_eq!((&facts["retries"], &facts["repeats"], &facts["divergences"]), (&0.into(), &0.into(), &0.into()));
    assert_eq!((&facts["reports"], &facts["reports_not_compared"]), (&datasets.len().into(), &0.into()), "{facts}");
}

/// Samples whose alternate runs outgrow a frame as a list.
const MANY: u32 = 60_000;

#[test]
#[ignore = "nightly"]
fn a_resumed_run_that_lacks_every_second_sample_grants_and_reports_them() {
    let mut rows = String::new();
    for at in 0..MANY {
        let again = if at % 2 == 1 { " Again." } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(rows, r#"{{"q": "What is {at}?", "p": "What is {at}?{again}", "a": "one of {at}"}}"#);
    }
    let configuration = |prompt: &str| {
        let dataset = generated("one", "a", r#""em""#).replace(r#"["q"]"#, r#"["q", "p"]"#);
        let dataset = dataset.replace("{q}", &format!("{{{prompt}}}"));
        format!("\n[[model]]\nabbr = \"echo\"\ntype = \"echo\"\n{dataset}\n[infer.partitioner]\ntype = \"naive\"\n")
    };
    let job = Job::new(&configuration("q"));
    job.write("rows.jsonl", &rows);
    job.run(&["--max-num-workers", "1"]).expect(0);
    // Half of the prompts are others now: one task of 30,000 runs of one sample each.
    job.configure(&configuration("p"));
    job.run(&["--max-num-workers", "2", "-r"]).expect(0);
    let (result, facts) = (job.result("echo", "one"), job.facts());
    assert_eq!((&result["scored"], &result["failed"]), (&MANY.into(), &0.into()));
    assert_eq!((&facts["resumed_samples"], &facts["tasks"]), (&(MANY / 2).into(), &1.into()), "{facts}");
    assert_eq!((&facts["retries"], &facts["reports"]), (&0.into(), &1.into()), "{facts}");
}
