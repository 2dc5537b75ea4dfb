//! Prompts in rounds under meta templates, as OpenCompass 0.5.4's own code renders them (`goldens/meta_templates.py`).

use compass_config::{Overrides, load};
use compass_plan::prompt::{Prompt, RenderedPrompt, Row, Shot, render, render_shots};
use compass_plan::{Body, GenSpec, InferSpec};
use compass_settings::{DatasetConfig, ModelConfig};
use serde_json::{Value, json};
use std::path::PathBuf;

fn goldens() -> Value {
    serde_json::from_str(include_str!("../goldens/meta_templates.json")).unwrap()
}

fn rows(value: &Value) -> Vec<Row> {
    value.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
}

fn read(folder: &str, toml: &str) -> (ModelConfig, DatasetConfig) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("meta_templates").join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [("eval.toml", toml), ("test.jsonl", "{}"), ("train.jsonl", "{}")] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let overrides = Overrides { home: Some(folder.clone()), ..Overrides::default() };
    let loaded = load(Some(&folder.join("eval.toml")), &overrides);
    let mut config = loaded.unwrap_or_else(|errors| panic!("{errors}\n{toml}")).config;
    (config.models.remove(0), config.datasets.remove(0))
}

fn json(rendered: RenderedPrompt) -> Value {
    match rendered {
        RenderedPrompt::Text(text) => text.into(),
        RenderedPrompt::Messages(messages) => json!(messages),
    }
}

#[test]
fn every_case_reads_as_opencompass_writes_it() {
    let goldens = goldens();
    let (test, train) = (rows(&goldens["test"]), rows(&goldens["train"]));
    let cases = goldens["cases"].as_array().unwrap();
    assert!(cases.len() >= 60);
    for (number, case) in cases.iter().enumerate() {
        let name = format!("{} ({})", case["name"], case["inferencer"]);
        let (model, dataset) = read(&number.to_string(), case["toml"].as_str().unwrap());
        let meta = model.meta_template.as_ref();
        assert_eq!(meta.and_then(|meta| meta.misfit(&dataset.prompt)), None, "{name}");
        let gold = dataset.output_column.as_deref();
        let rendered = render(&dataset.prompt, &dataset.infer, gold, &dataset.retriever, &test, &train);
        let rendered = rendered.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let mode = dataset.infer.prompt_mode();
        for (sample, expected) in rendered.samples.iter().zip(case["samples"].as_array().unwrap()) {
            for entry in expected.as_array().unwrap() {
                let shots = entry["shots"].as_u64().unwrap() as usize;
                let all: Vec<&Shot> = sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect();
                let prompts: Vec<&Prompt> = match &sample.body {
                    Body::Gen { prompt } => vec![prompt],
                    Body::Ppl { options } => options.iter().map(|option| &option.prompt).collect(),
                    other => panic!("{name}: {other:?}"),
                };
                let ours =
                    prompts.iter().map(|prompt| json(prompt.render_for(&all[..shots], &rendered.format, meta, mode)));
                assert_eq!(ours.collect::<Vec<_>>(), *entry["prompts"].as_array().unwrap(), "{name}, {shots} shots");
                if let Some(examples) = entry.get("examples") {
                    let takes_shots = prompts[0].takes_shots();
                    let ours = match takes_shots {
                        true => json(render_shots(&all[..shots], &rendered.format, meta)),
                        false => "".into(),
                    };
                    assert_eq!(ours, *examples, "{name}, {shots} shots alone");
                }
            }
        }
        let parts = serde_json::to_string(&(&rendered.shots, &rendered.samples)).unwrap();
        let read: (Vec<Shot>, Vec<compass_plan::Sample>) = serde_json::from_str(&parts).unwrap();
        assert_eq!(read, (rendered.shots, rendered.samples), "{name}: the plan comes back as it was written");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_write() {
    let goldens = goldens();
    let case = |name: &str| {
        let cases = goldens["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["name"] == name && case["inferencer"] == "gen").unwrap();
        case["toml"].as_str().unwrap().to_owned()
    };
    let (test, train) = (rows(&goldens["test"]), rows(&goldens["train"]));
    let render = |dataset: &DatasetConfig| {
        let infer = InferSpec::Gen(GenSpec::default());
        let rendered = render(&dataset.prompt, &infer, Some("answer"), &dataset.retriever, &test, &train);
        rendered.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };

    let shots = case("shots");
    let in_a_turn = shots.replace("\"</E>\"", "\"\"").replace("\"Q: {q}\"", "\"</E>Q: {q}\"");
    let said = render(&read("in_a_turn", &in_a_turn).1);
    assert!(said.contains("cannot hold them: take `</E>` out of it"), "{said}");
    let nowhere = shots.replace("\"</E>\"", "\"\"");
    let said = render(&read("nowhere", &nowhere).1);
    assert!(said.contains("does not say where they go: put `</E>`"), "{said}");

    let (model, dataset) = read("unknown", &case("rounds").replace("role = \"BOT\", prompt", "role = \"OWL\", prompt"));
    let said = model.meta_template.unwrap().misfit(&dataset.prompt).unwrap();
    assert!(said.contains("the role `OWL` in `round`") && said.contains("HUMAN, BOT"), "{said}");
}
