//! System messages that a model's chat template refuses, and what `predictions/` say of what was rendered.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_plan::prompt::prompt_sha;
use compass_tests::{Job, copy_demo_model};

const TEMPLATE: &str = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
                        {% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

const DATASETS: &str = r#"
[[dataset]]
abbr = "described"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "gen", description = "One digit.", prompt_template = { jinja = "{{q}}" } }
eval_cfg = { evaluator = "em" }

[[dataset]]
abbr = "options"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "loglikelihood", description = "One digit.", prompt_template = { jinja = "{{q}}" }, options = ["1", "2"] }
eval_cfg = { evaluator = "multiple_choice" }
"#;

fn job(keys: &str, infer: &str) -> Job {
    let model =
        format!("[[model]]\nabbr = \"m\"\npath = \"model\"\nchat = true\nmax_seq_len = 512\nmax_out_len = 4\n{keys}\n");
    let job = Job::new(&(model + DATASETS + infer));
    copy_demo_model(&job.path("model")).unwrap();
    job.write("model/chat_template.jinja", TEMPLATE);
    job.write("rows.jsonl", "{\"q\": \"1+1=\", \"a\": \"2\"}\n{\"q\": \"0+1=\", \"a\": \"1\"}\n");
    job
}

#[test]
#[ignore = "nightly"]
fn a_refused_description_stands_before_the_question_where_asked() {
    let placed = job("system = \"user\"", "");
    let done = placed.run(&[]).expect(0);
    assert!(done.stderr.contains("as `system = \"user\"` asks"), "{}", done.stderr);
    let record = &placed.predictions("m", "described")["0"];
    let rendered = "user: One digit.\n\n1+1=\n";
    assert_eq!(record["prompt_sha"], prompt_sha([rendered]).to_string(), "{record}");
    assert_eq!(record["origin_prompt"][0]["role"], "SYSTEM", "as it was asked: {record}");
    assert_eq!(record.get("rendered_prompt"), None, "{record}");
    let texts = ["1", "2"].map(|option| format!("{rendered}{option}"));
    let record = &placed.predictions("m", "options")["0"];
    assert_eq!(record["prompt_sha"], prompt_sha(texts.iter().map(String::as_str)).to_string(), "{record}");
    // The same bytes whatever the schedule.
    let pieces = "\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 1\ngen_task_coef = 1\n";
    let again = job("system = \"user\"", pieces);
    again.run(&["--max-num-workers", "2"]).expect(0);
    assert_eq!(again.predictions("m", "described"), placed.predictions("m", "described"));
}

#[test]
#[ignore = "nightly"]
fn a_refused_description_fails_with_the_remedy() {
    let refused = job("", "");
    refused.run(&[]).expect(1);
    let record = &refused.predictions("m", "described")["0"];
    let error = record["error"].as_str().unwrap();
    assert!(error.contains("System role not supported") && error.contains("write `system = \"user\"`"), "{record}");
    assert_eq!(record.get("prompt_sha"), None, "nothing was rendered: {record}");
}
