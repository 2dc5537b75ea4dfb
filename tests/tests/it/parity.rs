//! The numbers of the peers, reached through the whole chain: command line, master, worker, libtorch, files.
//!
//! Oracles and goldens were printed by programs that we did not write; without them these tests say `skipped`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, shared_folder};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.split('\n').filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn model(shared: &Path, name: &str, more: &str) -> String {
    format!("\n[[model]]\nabbr = \"m\"\npath = \"{}\"\n{more}\n", shared.join("models").join(name).display())
}

/// A data set in TOML: `reader` and `infer` are bodies of their tables.
fn dataset(abbr: &str, path: &Path, columns: &str, reader: &str, infer: &str, evaluator: &str) -> String {
    format!(
        "\n[[dataset]]\nabbr = \"{abbr}\"\nreader_cfg = {{ {reader} }}\n[dataset.test]\npath = \"{}\"\n{columns}\n\
         [dataset.infer_cfg]\n{infer}\n[dataset.eval_cfg]\nevaluator = \"{evaluator}\"\n",
        path.display()
    )
}

/// Log-likelihoods of a prediction record, option by option.
fn sums(record: &Value) -> Vec<f64> {
    let options = record.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("label: "));
    options.map(|(_, option)| option["Loglikelihood"].as_f64().unwrap()).collect()
}

#[test]
#[ignore = "nightly"]
fn stories260k_agrees_with_the_float64_oracle() {
    let Some(shared) = shared_folder("models/stories260K/oracle_dev.json") else {
        return;
    };
    let data = shared.join("data");
    let ll = "retriever = \"zero\"\ninferencer = \"loglikelihood\"";
    let piqa_labels = data.join("piqa/valid-labels.lst");
    let piqa_labels = format!("columns = {{ label = {{ lines_of = \"{}\", as = \"int\" }} }}", piqa_labels.display());
    let mut toml = model(&shared, "stories260K", "add_bos_token = true");
    toml += &dataset(
        "piqa",
        &data.join("piqa/valid.jsonl"),
        &piqa_labels,
        "input_columns = [\"goal\", \"sol1\", \"sol2\"], output_column = \"label\", test_range = \"[:200]\"",
        &format!(
            "{ll}\nprompt_template = \"Question: {{goal}}\\nAnswer:\"\noptions = {{ 0 = \"{{sol1}}\", 1 = \"{{sol2}}\" }}"
        ),
        "acc",
    );
    toml += &dataset(
        "hellaswag",
        &data.join("hellaswag/hellaswag_val_subset.jsonl"),
        "",
        "input_columns = [\"ctx\", \"endings\"], output_column = \"label\", test_range = \"[:100]\"",
        &format!("{ll}\nprompt_template = \"{{ctx}}\"\noptions = \"{{endings}}\""),
        "acc",
    );
    toml += &dataset(
        "arc_easy",
        &data.join("arc_easy/test.jsonl"),
        "",
        "input_columns = \"query choices\", output_column = \"gold\", test_range = \"[:150]\"",
        &format!("{ll}\nprompt_template = \"{{query}}\"\noptions = \"{{choices}}\""),
        "acc",
    );
    toml += &dataset(
        "xcopa",
        &data.join("xcopa_zh/val.zh.jsonl"),
        "",
        "input_columns = [\"premise\", \"choice1\", \"choice2\"], output_column = \"label\"",
        &format!("{ll}\nprompt_template = \"{{premise}}\"\noptions = {{ 0 = \"{{choice1}}\", 1 = \"{{choice2}}\" }}"),
        "acc",
    );
    let job = Job::new(&toml);
    let run = job.run(&[]).expect(0);
    let oracle = read(&shared.join("models/stories260K/oracle_dev.json"));
    let mut compared = 0;
    for (abbr, name) in [
        ("piqa", "piqa_valid_first200"),
        ("hellaswag", "hellaswag_subset_first100"),
        ("arc_easy", "arc_easy_first150"),
        ("xcopa", "xcopa_zh_val_all"),
    ] {
        let key = oracle.as_object().unwrap().keys().find(|key| key.starts_with(name)).unwrap();
        let expected = &oracle[key];
        let records = job.predictions("m", abbr);
        assert_eq!(
            records.as_object().unwrap().len() as u64,
            expected["n"].as_u64().unwrap() + expected["skipped"].as_u64().unwrap()
        );
        let mut skipped = Vec::new();
        for item in expected["items"].as_array().unwrap() {
            if item.get("skipped").is_some() {
                // Over 512 tokens: we score it after truncation, and say so by id.
                skipped.push(item["i"].clone());
                continue;
            }
            let record = &records[item["i"].to_string()];
            for (ours, theirs) in sums(record).iter().zip(item["sums"].as_array().unwrap()) {
                let theirs = theirs.as_f64().unwrap();
                assert!((ours - theirs).abs() < 1e-3, "{abbr} {}: {ours} and {theirs}", item["i"]);
                compared += 1;
            }
        }
        let result = job.result("m", abbr);
        assert_eq!(result["too_long"].as_array().cloned().unwrap_or_default(), skipped, "{abbr}");
        for index in skipped {
            assert!(
                run.stderr
                    .contains(&format!("m/{abbr}: 1 sample is too long for max_seq_len and was truncated: {index}"))
            );
        }
    }
    assert_eq!(compared, 400 + 400 + 595 + 200);
}

#[test]
#[ignore = "nightly"]
fn greedy_generation_from_an_empty_prompt_is_the_golden_text() {
    let Some(shared) = shared_folder("models/stories260K/golden.json") else {
        return;
    };
    let golden = read(&shared.join("models/stories260K/golden.json"));
    let mut toml = model(&shared, "stories260K", "add_bos_token = true");
    let rows = Path::new("rows.jsonl");
    let infer =
        "retriever = \"zero\"\ninferencer = { type = \"gen\", max_out_len = 200 }\nprompt_template = \"{prompt}\"";
    toml += &dataset("story", rows, "", "input_columns = [\"prompt\"], output_column = \"gold\"", infer, "em");
    let job = Job::new("\n[[model]]\n");
    job.write("rows.jsonl", &format!("{}\n", serde_json::json!({"prompt": "", "gold": golden["greedy_text"]})));
    job.configure(&toml);
    job.run(&[]).expect(0);
    assert_eq!(job.predictions("m", "story")["0"]["prediction"], golden["greedy_text"]);
}

#[test]
#[ignore = "nightly"]
fn opencompass_piqa_ppl_is_reproduced() {
    let golden = "golden/opencompass/piqa_ppl_1cf9f0/predictions/piqa.json";
    let Some(shared) = shared_folder(golden) else { return };
    let labels = shared.join("data/piqa/valid-labels.lst");
    let mut toml = model(&shared, "stories260K-hf", "max_seq_len = 4096");
    toml += &dataset(
        "piqa",
        &shared.join("data/piqa/valid.jsonl"),
        &format!("columns = {{ label = {{ lines_of = \"{}\", as = \"int\" }} }}", labels.display()),
        "input_columns = [\"goal\", \"sol1\", \"sol2\"], output_column = \"label\", test_range = \"[:40]\"",
        "retriever = { type = \"zero\" }\ninferencer = { type = \"ppl\" }\n[dataset.infer_cfg.prompt_template]\n\
         0 = \"The following makes sense: \\nQ: {goal}\\nA: {sol1}\\n\"\n\
         1 = \"The following makes sense: \\nQ: {goal}\\nA: {sol2}\\n\"",
        "acc",
    );
    let job = Job::new(&toml);
    job.run(&[]).expect(0);
    let (ours, theirs) = (job.predictions("m", "piqa"), read(&shared.join(golden)));
    assert_eq!(ours.as_object().unwrap().len(), 40);
    for (index, theirs) in theirs.as_object().unwrap() {
        let ours = &ours[index];
        assert_eq!(
            ours.as_object().unwrap().keys().collect::<Vec<_>>(),
            theirs.as_object().unwrap().keys().collect::<Vec<_>>()
        );
        for key in ["in-context examples", "origin_prompt", "prediction", "gold"] {
            assert_eq!(ours[key], theirs[key], "{index}");
        }
        for label in ["label: 0", "label: 1"] {
            assert_eq!(ours[label]["prompt"], theirs[label]["prompt"]);
            assert_eq!(ours[label]["testing input"], theirs[label]["testing input"]);
            for score in ["PPL", "BPB"] {
                let (ours, theirs) = (ours[label][score].as_f64().unwrap(), theirs[label][score].as_f64().unwrap());
                assert!((ours - theirs).abs() < 1e-4, "{index} {label} {score}: {ours} and {theirs}");
            }
        }
    }
    assert_eq!(job.result("m", "piqa")["accuracy"], 55.000_000_000_000_01);
}

#[test]
#[ignore = "nightly"]
fn lm_eval_multiple_choice_is_reproduced() {
    let Some(shared) = shared_folder("golden/lm-eval/samples_g_piqa.jsonl") else {
        return;
    };
    let golden = shared.join("golden/lm-eval");
    let ll = "inferencer = \"loglikelihood\"";
    let mut toml = model(&shared, "stories260K-hf", "max_seq_len = 4096");
    toml += &dataset(
        "piqa",
        &golden.join("piqa.jsonl"),
        "",
        "input_columns = [\"goal\", \"sol1\", \"sol2\"], output_column = \"label\"",
        &format!(
            "{ll}\nretriever = \"zero\"\nprompt_template = \"Question: {{goal}}\\nAnswer:\"\noptions = {{ 0 = \"{{sol1}}\", 1 = \"{{sol2}}\" }}"
        ),
        "acc",
    );
    let listed = |abbr: &str, file: &str, train: &str, retriever: &str| {
        dataset(
            abbr,
            &golden.join(file),
            train,
            "input_columns = [\"query\", \"choices\"], output_column = \"gold\"",
            &format!("{ll}\nretriever = {retriever}\nprompt_template = \"{{query}}\"\noptions = \"{{choices}}\""),
            "acc",
        )
    };
    toml += &listed("arc_easy", "arc_easy.jsonl", "", "\"zero\"");
    let train = format!("[dataset.train]\npath = \"{}\"", golden.join("hellaswag_dev.jsonl").display());
    toml += &listed("hellaswag5", "hellaswag.jsonl", &train, "{ type = \"sampled\", k = 5, seed = 1234 }");
    let job = Job::new(&toml);
    job.run(&[]).expect(0);
    let totals = read(&golden.join("results.json"));
    for abbr in ["piqa", "arc_easy", "hellaswag5"] {
        let (records, result) = (job.predictions("m", abbr), job.result("m", abbr));
        let samples = lines(&golden.join(format!("samples_g_{abbr}.jsonl")));
        assert_eq!(records.as_object().unwrap().len(), samples.len());
        for sample in &samples {
            let id = sample["doc_id"].to_string();
            check_sample(abbr, &id, &records[&id], sample);
            let correct = |value: &Value| f64::from(u8::from(value.as_bool().unwrap()));
            assert_eq!(correct(&result["details"][&id]["correct"]), sample["acc"].as_f64().unwrap(), "{abbr} {id}");
            assert_eq!(correct(&result["details"][&id]["correct_norm"]), sample["acc_norm"].as_f64().unwrap());
        }
        let theirs = &totals["results"][format!("g_{abbr}")];
        for (ours, name) in [("accuracy", "acc"), ("acc_norm", "acc_norm")] {
            let close = |ours: &Value, key: String| {
                let (ours, theirs) = (ours.as_f64().unwrap() / 100.0, theirs[&key].as_f64().unwrap());
                assert!((ours - theirs).abs() < 1e-12, "{abbr} {key}: {ours} and {theirs}");
            };
            close(&result[ours], format!("{name},none"));
            close(&result["stderr"][ours], format!("{name}_stderr,none"));
        }
    }
}

/// Prompts byte for byte, sums within 1e-4 of a token, greediness equal.
fn check_sample(abbr: &str, id: &str, record: &Value, sample: &Value) {
    let options: Vec<_> = record.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("label: ")).collect();
    let responses = sample["resps"].as_array().unwrap();
    assert_eq!(options.len(), responses.len(), "{abbr} {id}");
    for (at, ((_, option), response)) in options.iter().zip(responses).enumerate() {
        let arguments = &sample["arguments"][format!("gen_args_{at}")];
        let mut whole = arguments["arg_0"].as_str().unwrap().to_owned();
        // Writing to a string cannot fail.
        let _ = write!(whole, "{}", arguments["arg_1"].as_str().unwrap());
        assert_eq!(option["prompt"], whole.as_str(), "{abbr} {id}");
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let theirs: f64 = text(&response[0][0]).parse().unwrap();
        let ours = option["Loglikelihood"].as_f64().unwrap();
        let tokens = option["tokens"].as_f64().unwrap();
        assert!((ours - theirs).abs() / tokens < 1e-4, "{abbr} {id}: {ours} and {theirs} over {tokens} tokens");
        assert_eq!(option["is_greedy"].to_string(), text(&response[0][1]).to_lowercase(), "{abbr} {id}");
    }
}
