//! Every kind of request, from a configuration file to the table: with the peers' own numbers where they are there, and
//! with the echo engine for everything around a model.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, demo_model, shared_folder};
use serde_json::Value;
use std::path::Path;

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.split('\n').filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// lm-eval's tasks of the reference, as its YAML writes them.
fn lm_eval(golden: &Path, model: &Path) -> String {
    let file = |name: &str| golden.join(name).display().to_string();
    format!(
        r##"
[[model]]
abbr = "m"
path = "{model}"
max_seq_len = 4096

[[dataset]]
abbr = "wikitext"
reader_cfg = {{ input_columns = ["page"] }}
test = {{ path = "{wikitext}" }}
infer_cfg = {{ inferencer = "rolling", prompt_template = {{ jinja = "{{{{page}}}}" }} }}
eval_cfg = {{ evaluator = "perplexity" }}

[[dataset]]
abbr = "lambada"
reader_cfg = {{ input_columns = ["text"], output_column = "text" }}
test = {{ path = "{lambada}" }}
[dataset.infer_cfg]
inferencer = "loglikelihood"
prompt_template = {{ jinja = "{{{{text.split(' ')[:-1]|join(' ')}}}}" }}
target = {{ jinja = "{{{{' '+text.split(' ')[-1]}}}}" }}
target_delimiter = ""
[dataset.eval_cfg]
evaluator = "perplexity"

[[dataset]]
abbr = "gsm8k"
reader_cfg = {{ input_columns = ["question"], output_column = "answer" }}
test = {{ path = "{gsm8k}" }}
train = {{ path = "{gsm8k_train}" }}
[dataset.infer_cfg]
inferencer = {{ type = "gen", max_out_len = 48, stop = ["Question:"] }}
retriever = {{ type = "sampled", k = 3, seed = 1234 }}
prompt_template = {{ jinja = "Question: {{{{question}}}}\nAnswer:" }}
target = {{ jinja = "{{{{answer}}}}" }}
[dataset.eval_cfg]
evaluator = "exact_match"
filters = [{{ name = "strict", steps = [{{ type = "regex", regex_pattern = '#### (\-?[0-9\.\,]+)' }}, "take_first"] }}]
"##,
        model = model.display(),
        wikitext = file("wikitext.jsonl"),
        lambada = file("lambada.jsonl"),
        gsm8k = file("gsm8k.jsonl"),
        gsm8k_train = file("gsm8k_train.jsonl"),
    )
}

#[test]
#[ignore = "nightly"]
fn lm_eval_rolling_single_continuations_and_generations_are_reproduced() {
    let Some(shared) = shared_folder("golden/lm-eval/samples_g_wikitext.jsonl") else { return };
    let golden = shared.join("golden/lm-eval");
    let job = Job::new(&lm_eval(&golden, &shared.join("models/stories260K-hf")));
    job.run(&[]).expect(0);
    let totals = read(&golden.join("results.json"));
    let theirs = |task: &str, metric: &str| totals["results"][task][metric].as_f64().unwrap();
    let close = |ours: &Value, theirs: f64, what: &str| {
        let ours = ours.as_f64().unwrap();
        assert!((ours - theirs).abs() <= 1e-4 * theirs.abs().max(1.0), "{what}: {ours} and {theirs}");
    };
    let wikitext = job.result("m", "wikitext");
    for metric in ["word_perplexity", "byte_perplexity", "bits_per_byte"] {
        // A perplexity of millions is the exponential of what agrees to 1e-6.
        let ours = wikitext[metric].as_f64().unwrap();
        let theirs = theirs("g_wikitext", &format!("{metric},none"));
        assert!((ours.ln() - theirs.ln()).abs() < 1e-5, "{metric}: {ours} and {theirs}");
    }
    let lambada = job.result("m", "lambada");
    let (ours, peer) = (lambada["perplexity"].as_f64().unwrap(), theirs("g_lambada", "perplexity,none"));
    assert!((ours.ln() - peer.ln()).abs() < 1e-4, "{ours} and {peer}");
    close(&lambada["acc"], 100.0 * theirs("g_lambada", "acc,none"), "lambada acc");

    let records = job.predictions("m", "gsm8k");
    let samples = lines(&golden.join("samples_g_gsm8k.jsonl"));
    assert_eq!(samples.len(), 16);
    for sample in &samples {
        let id = sample["doc_id"].to_string();
        assert_eq!(records[&id]["origin_prompt"], sample["arguments"]["gen_args_0"]["arg_0"], "{id}");
        // The space before the first word, which lm-eval drops, stays under our own profile.
        let prediction = records[&id]["prediction"].as_str().unwrap();
        assert_eq!(sample["resps"][0][0], prediction.strip_prefix(' ').unwrap_or(prediction), "{id}");
    }
}

/// OpenCompass's own classes under torch gave the number: `make_swce.py` of the engine's goldens.
#[test]
#[ignore = "nightly"]
fn bits_per_character_are_those_of_opencompass_however_they_are_computed() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worker/engine/tests/engine/goldens/swce.json");
    let golden = read(&golden);
    let case = &golden["cases"][0];
    let (block_size, stride) = (&case["block_size"], &case["stride"]);
    let job = Job::new(&format!(
        r#"
[[model]]
abbr = "demo"
path = "{model}"

[[dataset]]
abbr = "texts"
reader_cfg = {{ input_columns = ["content"] }}
test = {{ path = "texts.jsonl" }}
[dataset.infer_cfg]
inferencer = {{ type = "SWCELossInferencer", block_size = {block_size}, stride = {stride} }}
prompt_template = "{{content}}"
[dataset.eval_cfg]
evaluator = "BPCEvaluator"
"#,
        model = demo_model().display()
    ));
    let texts = golden["texts"].as_array().unwrap().iter();
    job.write(
        "texts.jsonl",
        &texts.map(|text| serde_json::json!({ "content": text }).to_string() + "\n").collect::<String>(),
    );
    job.run(&[]).expect(0);
    let (ours, theirs) = (job.result("demo", "texts")["bpc"].as_f64().unwrap(), case["bpc"].as_f64().unwrap());
    assert!((ours - theirs).abs() < 1e-4, "{ours} and {theirs}");
}

#[test]
#[ignore = "nightly"]
fn a_window_that_a_model_cannot_read_is_refused_before_anything_starts() {
    let config = |model: &str| {
        format!(
            r#"
[[model]]
abbr = "m"
{model}

[[dataset]]
abbr = "texts"
reader_cfg = {{ input_columns = ["q"] }}
test = {{ path = "rows.jsonl" }}
infer_cfg = {{ inferencer = {{ type = "swce_loss", block_size = 101 }}, prompt_template = "{{q}}" }}
eval_cfg = {{ evaluator = "bpc" }}
"#
        )
    };
    let endpoint = r#"endpoint = { url = "http://127.0.0.1:9/v1", model = "m", api = "completions" }"#;
    for (model, said, help) in [
        (
            "type = \"echo\"\nmax_seq_len = 100",
            "reads 100 tokens, and a window of data set `texts` has 101",
            "write `block_size = 100` or less",
        ),
        (endpoint, "cannot run data set `texts` (`swce_loss`)", "run it on the model's files"),
    ] {
        let job = Job::new(&config(model));
        job.write("rows.jsonl", "{\"q\": \"one\"}\n");
        let refused = job.run(&[]).expect(2);
        assert!(refused.stderr.contains(said) && refused.stderr.contains(help), "{}", refused.stderr);
    }
}

const ECHO: &str = r#"
[[model]]
abbr = "echo"
type = "echo"

[[dataset]]
abbr = "clp"
reader_cfg = { input_columns = ["q", "choices"], output_column = "label" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "clp", prompt_template = "{q}" }
eval_cfg = { evaluator = "acc" }

[[dataset]]
abbr = "alone"
reader_cfg = { input_columns = ["q"] }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "ppl_only", prompt_template = "{q}" }
eval_cfg = { evaluator = "average_ppl" }

[[dataset]]
abbr = "rolling"
reader_cfg = { input_columns = ["q"] }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = "rolling", prompt_template = "{q}" }
eval_cfg = { evaluator = "perplexity" }

[[dataset]]
abbr = "windows"
reader_cfg = { input_columns = ["q"] }
test = { path = "texts.jsonl" }
infer_cfg = { inferencer = "swce_loss", prompt_template = "{q}" }
eval_cfg = { evaluator = "bpc" }

[[dataset]]
abbr = "drawn"
reader_cfg = { input_columns = ["q"], output_column = "gold" }
test = { path = "rows.jsonl" }
infer_cfg = { inferencer = { type = "gen", generation_kwargs = { do_sample = true, num_return_sequences = 3 } }, prompt_template = "{q}" }
eval_cfg = { evaluator = "acc" }

[[dataset]]
abbr = "normalized"
reader_cfg = { input_columns = ["q", "a", "b"], output_column = "label" }
test = { path = "rows.jsonl" }
[dataset.infer_cfg]
inferencer = { type = "ppl", normalizing_str = "Answer: " }
sep_token = "<SEP>"
prompt_template = { 0 = "{q}<SEP>{a}", 1 = "{q}<SEP>{b}" }
[dataset.eval_cfg]
evaluator = "acc"
"#;

#[test]
fn every_kind_goes_through_a_job() {
    let job = Job::new(ECHO);
    let row = |at: u32| {
        let label = at % 2;
        format!(
            r#"{{"q": "Question {at}", "a": "yes {at}", "b": "no {at}", "choices": ["A", "B"], "gold": "x", "label": {label}}}"#
        )
    };
    job.write("rows.jsonl", &(0..40).map(|at| row(at) + "\n").collect::<String>());
    // Half a million characters: five slices.
    let text = |at: u32| format!(r#"{{"q": "{}"}}"#, format!("{at} ").repeat(50_000));
    job.write("texts.jsonl", &(0..5).map(|at| text(at) + "\n").collect::<String>());
    let one = job.run(&["--max-num-workers", "1"]).expect(0);
    let results = job.tree("results");
    for (dataset, metric) in [
        ("clp", "accuracy"),
        ("alone", "average_ppl"),
        ("rolling", "word_perplexity"),
        ("windows", "bpc"),
        ("normalized", "accuracy"),
    ] {
        let result = job.result("echo", dataset);
        assert!(result[metric].is_number(), "{dataset}: {result}");
        assert!(one.stdout.contains(dataset), "{}", one.stdout);
    }
    assert_eq!(job.predictions("echo", "drawn")["7"]["prediction"].as_array().unwrap().len(), 3);
    let windows = job.predictions("echo", "windows");
    assert_eq!(windows["4"]["slice"], serde_json::json!([4, 5]), "{windows}");
    assert_eq!(windows.as_object().unwrap().len(), 5);
    assert!(job.predictions("echo", "clp")["0"]["prediction"].is_array(), "{}", job.predictions("echo", "clp")["0"]);
    job.run(&["--max-num-workers", "3"]).expect(0);
    assert_eq!(job.tree("results"), results, "three workers give what one gives");
    let generated = || job.facts()["tokens"]["generated"].as_u64().unwrap();
    let trees = || (job.tree("results"), job.tree("predictions"));
    let of_three = generated();
    // More answers to each prompt, then fewer: what was drawn is kept.
    for answers in [5, 2] {
        job.configure(&ECHO.replace("num_return_sequences = 3", &format!("num_return_sequences = {answers}")));
        let resumed = job.run(&["--max-num-workers", "2", "-r"]).expect(0);
        let (kept, drawn) = (trees(), generated());
        assert_eq!(
            resumed.stderr.contains("the answers that were drawn for 40 more"),
            answers == 5,
            "{}",
            resumed.stderr
        );
        job.run(&["--max-num-workers", "1"]).expect(0);
        assert!(kept == trees(), "as if all {answers} were drawn at once");
        assert_eq!(drawn, generated().saturating_sub(of_three), "no token of the answers that were there");
    }
}
