//! Damaged models: the worker finds the fault, the run says it once and beside the number, every other model of the job
//! is evaluated, and the exit code is 1.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{Job, copy_demo_model};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn edit(path: PathBuf, change: impl FnOnce(&mut Value)) {
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, serde_json::to_vec(&json).unwrap()).unwrap();
}

/// Changes the header of a safetensors file; the tensors stay where they are.
fn edit_header(model: &Path, change: impl FnOnce(&mut Value)) {
    let path = model.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let mut json: Value = serde_json::from_slice(header).unwrap();
    change(&mut json);
    let header = serde_json::to_vec(&json).unwrap();
    fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()).unwrap();
}

const NORM: &str = "model.norm.weight";

type Damage = (&'static str, &'static str, fn(&Path));

/// Name of the model, the message about it, and its damage.
const DAMAGES: &[Damage] = &[
    ("broken_config", "config.json: invalid: EOF", |model| fs::write(model.join("config.json"), "{").unwrap()),
    ("larger", "but config.json asks for", |model| {
        edit(model.join("config.json"), |json| json["vocab_size"] = (json["vocab_size"].as_i64().unwrap() + 8).into());
    }),
    ("empty", "model.safetensors: damaged or incomplete safetensors file of 0 bytes", |model| {
        fs::write(model.join("model.safetensors"), "").unwrap();
    }),
    ("cut", "model.safetensors: damaged or incomplete safetensors file", |model| {
        let file = fs::File::options().write(true).open(model.join("model.safetensors")).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }),
    ("flipped", "model.safetensors: damaged or incomplete safetensors file", |model| {
        let mut bytes = fs::read(model.join("model.safetensors")).unwrap();
        bytes[8] ^= 0x10;
        fs::write(model.join("model.safetensors"), bytes).unwrap();
    }),
    ("renamed", "tensor `model.norm.weight`", |model| {
        edit_header(model, |header| {
            let tensor = header.as_object_mut().unwrap().remove(NORM).unwrap();
            header["model.other.weight"] = tensor;
        });
    }),
    ("reshaped", "tensor `model.norm.weight` has shape", |model| {
        edit_header(model, |header| {
            let size = header[NORM]["shape"][0].clone();
            header[NORM]["shape"] = serde_json::json!([1, size]);
        });
    }),
    ("no_words", "tokenizer.json: not a tokenizer", |model| fs::write(model.join("tokenizer.json"), "{}").unwrap()),
];

fn configuration() -> String {
    let names = DAMAGES.iter().map(|(name, ..)| *name).chain(["good"]);
    let models: String = names.map(|name| format!("\n[[model]]\nabbr = \"{name}\"\npath = \"{name}\"\n")).collect();
    models
        + r#"
[[dataset]]
abbr = "d"
reader_cfg = { input_columns = ["q", "a"], output_column = "label" }
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "ppl"
[dataset.infer_cfg.prompt_template]
0 = "{q} {a}"
1 = "{q} no {a}"
[dataset.eval_cfg]
evaluator = "acc"
[infer.partitioner]
type = "naive"
"#
}

#[test]
#[ignore = "nightly"]
fn every_damage_is_said_once_and_beside_the_number_and_the_good_model_is_evaluated() {
    let job = Job::new(&configuration());
    job.write(
        "rows.jsonl",
        "{\"q\": \"once\", \"a\": \"upon\", \"label\": 0}\n{\"q\": \"a\", \"a\": \"b\", \"label\": 1}\n",
    );
    copy_demo_model(&job.path("good")).unwrap();
    for (name, _, damage) in DAMAGES {
        copy_demo_model(&job.path(name)).unwrap();
        damage(&job.path(name));
    }
    let finished = job.run(&["--max-num-workers", "2"]).expect(1);
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    let good = job.result("good", "d");
    assert_eq!((&good["scored"], &good["failed"]), (&2.into(), &0.into()), "{good}");
    let errors: Vec<&str> = finished.stderr.split("\nerror: ").skip(1).collect();
    for (name, said, _) in DAMAGES {
        let about = errors.iter().filter(|error| error.contains(&format!("/{name}/"))).collect::<Vec<_>>();
        assert_eq!(about.len(), 1, "{name}:\n{}", finished.stderr);
        assert!(about[0].contains(said), "{name}: {}", about[0]);
        let result = job.result(name, "d");
        assert_eq!((&result["scored"], &result["failed"]), (&0.into(), &2.into()), "{result}");
        assert!(result["failed_samples"]["0"].as_str().unwrap().contains(said), "{result}");
    }
    let (_, first, _) = DAMAGES[0];
    assert!(finished.stdout.contains(&format!("withheld: 2 of 2 failed: {first}")), "{}", finished.stdout);
    assert_eq!(job.result("good", "d")["scored"], 2);
}

#[test]
fn files_that_are_not_there_are_found_before_anything_starts() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let job = Job::new(&configuration());
        job.write("rows.jsonl", "{\"q\": \"once\", \"a\": \"upon\", \"label\": 0}\n");
        copy_demo_model(&job.path("good")).unwrap();
        fs::remove_file(job.path("good").join(file)).unwrap();
        let finished = job.run(&["--models", "good"]).expect(2);
        assert!(finished.stderr.contains(file) && finished.stderr.contains("--> eval.toml:"), "{}", finished.stderr);
        assert!(job.runs().is_empty());
    }
}
