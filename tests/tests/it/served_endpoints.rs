//! A model behind `compass-worker serve-openai`: through the endpoint it gives the same results as when it is loaded.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, program, shared_folder, wait_until};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that is killed when dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(model: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(program("compass-worker"));
        command.args(["serve-openai", "--listen", "127.0.0.1:0", "--name", "tiny", "--device", "cpu", "--model"]);
        command.arg(model).args(more).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("serving at ").map(|(_, url)| url.to_owned()));
        // Its later output must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.unwrap() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const DATASETS: &str = r#"
[[dataset]]
abbr = "choice_ppl"
reader_cfg = { input_columns = ["q", "a", "b"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "ppl", prompt_template = { 0 = "{q} {a}", 1 = "{q} {b}" } }
eval_cfg = { evaluator = "acc" }

[[dataset]]
abbr = "choice_ll"
reader_cfg = { input_columns = ["q"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "loglikelihood", prompt_template = "{q}", options = ["little girl", "park with a ball"] }
eval_cfg = { evaluator = { type = "multiple_choice", metrics = ["acc"] } }

[[dataset]]
abbr = "alone"
reader_cfg = { input_columns = ["q", "a"] }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "ppl_only", prompt_template = "{q} {a}" }
eval_cfg = { evaluator = "average_ppl" }

[[dataset]]
abbr = "told"
reader_cfg = { input_columns = ["q"], output_column = "a" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", max_out_len = 12, stop = ["."] }, prompt_template = "{q}" }
eval_cfg = { evaluator = "em" }
"#;

fn rows(job: &Job) {
    let begins = [
        "Once upon a time there was a",
        "Lily and her mom went to the",
        "The big dog said",
        "One day, a boy named Tim",
    ];
    let mut rows = String::new();
    for at in 0..24_usize {
        let (q, label) = (begins[at % begins.len()], at % 2);
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            r#"{{"q": "{q}", "a": "little girl {at}", "b": "park with a red ball {at}", "label": {label}}}"#
        );
    }
    job.write("rows.jsonl", &rows);
}

/// Fails unless both have the same form, and numbers that differ by no more than 1e-4 of their size.
fn assert_close(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{at}");
            a.iter().for_each(|(key, value)| assert_close(value, &b[key], &format!("{at}/{key}")));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter().zip(b).enumerate().for_each(|(n, (a, b))| assert_close(a, b, &format!("{at}/{n}")));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{at}: {a} and {b}");
        }
        (a, b) => assert_eq!(a, b, "{at}"),
    }
}

#[test]
fn scores_and_texts_through_an_endpoint_are_those_of_the_loaded_model() {
    let Some(shared) = shared_folder("models/stories260K-hf/model.safetensors") else { return };
    let model = shared.join("models/stories260K-hf");
    let local = Job::new(&format!(
        "\n[[model]]\nabbr = \"m\"\npath = \"{}\"\nadd_bos_token = \"auto\"\n{DATASETS}",
        model.display()
    ));
    rows(&local);
    local.run(&["--max-num-workers", "1"]).expect(0);
    let served = Served::start(&model, &[]);
    let endpoint = format!("endpoint = {{ url = \"{}\", model = \"tiny\", api = \"completions\" }}", served.url);
    let asked = Job::new(&format!("\n[[model]]\nabbr = \"m\"\n{endpoint}\n{DATASETS}"));
    rows(&asked);
    asked.run(&["--max-num-workers", "1"]).expect(0);
    for dataset in ["choice_ppl", "choice_ll", "alone", "told"] {
        let (ours, theirs) = (asked.predictions("m", dataset), local.predictions("m", dataset));
        assert!(theirs.as_object().is_some_and(|records| records.len() == 24), "{dataset}: {theirs}");
        assert_close(&ours, &theirs, dataset);
        assert_close(&asked.result("m", dataset), &local.result("m", dataset), dataset);
    }
}

#[test]
#[ignore = "nightly"]
fn a_thinking_with_a_budget_is_the_same_through_an_endpoint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let demo = root.join("deploy/demo");
    let served = Served::start(&demo.join("model"), &[]);
    let url = &served.url;
    let tokenizer = root.join("examples/data/thinking").display().to_string();
    let rows = demo.join("data/sums_test.jsonl").display().to_string();
    let loaded = format!("path = \"{}\"\nchat = true", demo.join("model").display());
    let endpoint = format!("endpoint = {{ url = \"{url}\", model = \"tiny\", api = \"completions\" }}");
    for budget in [1, 2, 3, 16] {
        let run = |model: &str| {
            let job = Job::new(&format!(
                r#"
[[model]]
abbr = "m"
tokenizer_path = "{tokenizer}"
max_seq_len = 512
thinking = {{ marks = {{ start = "+", end = "=" }}, budget = {budget}, at_budget = {{ text = " " }} }}
{model}

[[dataset]]
abbr = "sums"
reader_cfg = {{ input_columns = ["question"], output_column = "answer" }}
test = {{ path = "{rows}" }}
infer_cfg = {{ inferencer = {{ type = "gen", max_out_len = 8, stop = ["\n"] }}, prompt_template = {{ round = [{{ role = "HUMAN", prompt = "{{question}}" }}] }} }}
eval_cfg = {{ evaluator = "em" }}
"#
            ));
            job.run(&["--max-num-workers", "1"]).expect(0);
            (job.predictions("m", "sums"), job.result("m", "sums"))
        };
        let (ours, theirs) = (run(&endpoint), run(&loaded));
        assert!(theirs.0.as_object().is_some_and(|records| records.len() == 240), "{}", theirs.1);
        assert!(theirs.1["answers"]["thought_only"].as_u64() > Some(0), "the model thinks: {}", theirs.1);
        assert_eq!(ours, theirs, "{budget}");
    }
}

#[test]
#[ignore = "nightly"]
fn messages_are_answered() {
    let Some(shared) = shared_folder("models/stories260K-hf/model.safetensors") else { return };
    let served = Served::start(&shared.join("models/stories260K-hf"), &[]);
    let told = DATASETS.split("\n[[dataset]]").find(|table| table.contains("\"told\"")).unwrap();
    let endpoint = format!("endpoint = {{ url = \"{}\", model = \"tiny\", api = \"chat\" }}", served.url);
    let job = Job::new(&format!("\n[[model]]\nabbr = \"m\"\n{endpoint}\n\n[[dataset]]{told}"));
    rows(&job);
    job.run(&["--max-num-workers", "1"]).expect(0);
    let records = job.predictions("m", "told");
    let texts = records.as_object().unwrap().values().filter_map(|record| record["prediction"].as_str());
    assert_eq!(texts.filter(|text| !text.is_empty()).count(), 24, "{records}");
    // Another name is another model.
    job.configure(&format!(
        "\n[[model]]\nabbr = \"m\"\n{}\n\n[[dataset]]{told}",
        endpoint.replace("\"tiny\"", "\"huge\"")
    ));
    let done = job.run(&["--max-num-workers", "1"]).expect(2);
    assert!(done.stderr.contains("there is no model `huge`"), "{}", done.stderr);
    // Without a name it is the first that the server lists; so in OpenCompass's class for lmdeploy's server.
    job.configure(&format!(
        "\n[[model]]\nabbr = \"m\"\n{}\n\n[[dataset]]{told}",
        endpoint.replace("model = \"tiny\", ", "")
    ));
    job.run(&["--max-num-workers", "1"]).expect(0);
    assert_eq!(job.predictions("m", "told"), records);
    let address = served.url.trim_end_matches("/v1");
    let of_class = format!("type = \"TurboMindAPIModel\"\napi_addr = \"{address}\"\ngen_config = {{ top_k = 1 }}");
    job.configure(&format!("\n[[model]]\nabbr = \"m\"\n{of_class}\n\n[[dataset]]{told}"));
    job.run(&["--max-num-workers", "1"]).expect(0);
    let records = job.predictions("m", "told");
    assert!(records.as_object().is_some_and(|records| records.len() == 24), "{records}");
}

#[test]
#[ignore = "nightly"]
fn a_key_is_demanded_where_there_is_one() {
    let Some(shared) = shared_folder("models/stories260K-hf/model.safetensors") else { return };
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), "k-123456\n").unwrap();
    let path = key.path().display().to_string();
    let served = Served::start(&shared.join("models/stories260K-hf"), &["--key-file", &path]);
    let told = DATASETS.split("\n[[dataset]]").find(|table| table.contains("\"told\"")).unwrap();
    let with = |more: &str| {
        let endpoint = format!("endpoint = {{ url = \"{}\", model = \"tiny\"{more} }}", served.url);
        format!("\n[[model]]\nabbr = \"m\"\n{endpoint}\n\n[[dataset]]{told}")
    };
    let job = Job::new(&with(""));
    rows(&job);
    let done = job.run(&["--max-num-workers", "1"]).expect(2);
    assert!(done.stderr.contains("the key is missing or wrong"), "{}", done.stderr);
    job.configure(&with(&format!(", key_file = \"{path}\"")));
    job.run(&["--max-num-workers", "1"]).expect(0);
    wait_until("the run is written", || {
        job.facts()["endpoints"]["m"]["samples"].as_u64().filter(|samples| *samples > 0)
    });
}
