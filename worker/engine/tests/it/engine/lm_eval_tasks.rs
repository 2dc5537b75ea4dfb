//! Whole lm-eval tasks on the demo's model, from their Jinja to their scores: `goldens/tasks.json` has its log.

use crate::engine::support::{demo_model, golden};
use compass_config::{Overrides, load};
use compass_engine::DeviceChoice;
use compass_eval::evaluator::{SampleValue, judge};
use compass_plan::engine::{BatchSpec, Engine, Request};
use compass_plan::prompt::{MetaTemplate, RenderedDataset, RenderedPrompt, Row, Shot, render};
use compass_plan::{Body, ModelKind, ModelPlan, NumericProfile, Sample};
use compass_settings::DatasetConfig;
use compass_types::result::{Outcome, SampleResult};
use serde_json::{Value, json};
use std::path::Path;

/// Copies the demo's model with a chat template.
fn with_template(directory: &Path, template: &Value) {
    for entry in std::fs::read_dir(demo_model()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, directory.join(path.file_name().unwrap())).unwrap();
    }
    if template.is_string() {
        let config = directory.join("tokenizer_config.json");
        let mut settings: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
        settings["chat_template"] = template.clone();
        std::fs::write(&config, settings.to_string()).unwrap();
    }
}

/// Returns the engine of a run, and its plan.
fn engine_of(run: &Value, profile: NumericProfile) -> (Box<dyn Engine>, ModelPlan) {
    let directory = tempfile::tempdir().unwrap();
    with_template(directory.path(), &run["chat_template"]);
    let chat = run["chat_template"].is_string();
    let one_turn = run["fewshot_as_multiturn"] == json!(false);
    let meta_template = (chat && one_turn).then(|| MetaTemplate { one_turn, ..MetaTemplate::chat() });
    let path = directory.path().to_str().unwrap();
    let max_seq_len = run["max_length"].as_u64().map(|length| length as u32);
    let plan = ModelPlan { profile, max_seq_len, chat, meta_template, ..ModelPlan::new("m", ModelKind::Hf, path) };
    (compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap(), plan)
}

/// Returns a task in a data set's TOML.
fn dataset_of(task: &Value) -> DatasetConfig {
    let folder = tempfile::tempdir().unwrap();
    let metrics: Vec<String> = task["metrics"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let generates = metrics == ["\"exact_match\""];
    let (inferencer, evaluator) = if generates {
        ("{ type = \"gen\", max_out_len = 6, stop = [\"\\n\"] }", "\"exact_match\"".to_owned())
    } else {
        ("\"loglikelihood\"", format!("{{ type = \"multiple_choice\", metrics = [{}] }}", metrics.join(", ")))
    };
    let infer = task["compass"].as_str().unwrap();
    let toml = format!(
        "[[model]]\nabbr = \"m\"\ntype = \"echo\"\n[[dataset]]\nabbr = \"d\"\nreader_cfg = {{ input_columns = [\"question\"] }}\n\
         test = {{ path = \"rows.jsonl\" }}\ntrain = {{ path = \"rows.jsonl\" }}\neval_cfg = {{ evaluator = {evaluator} }}\n\
         [dataset.infer_cfg]\ninferencer = {inferencer}\n{infer}"
    );
    for (file, text) in [("eval.toml", toml.as_str()), ("rows.jsonl", "{}")] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let overrides = Overrides { home: Some(folder.path().into()), ..Overrides::default() };
    let loaded = load(Some(&folder.path().join("eval.toml")), &overrides);
    loaded.unwrap_or_else(|errors| panic!("{errors}\n{toml}")).config.datasets.remove(0)
}

fn rows(golden: &Value, split: &str) -> Vec<Row> {
    golden[split].as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
}

fn run(
    engine: &mut dyn Engine,
    plan: &ModelPlan,
    dataset: &DatasetConfig,
    rendered: &RenderedDataset,
) -> Vec<SampleResult> {
    let spec = BatchSpec {
        infer: dataset.infer.clone(),
        shot_format: rendered.format.clone(),
        meta_template: plan.meta(),
        takes_programs: false,
    };
    let requests: Vec<Request<'_>> =
        rendered.samples.iter().map(|sample| Request::new(sample, shots(rendered, sample))).collect();
    let mut results = Vec::new();
    engine.run(&spec, &requests, &mut |result| results.push(result)).unwrap();
    results.sort_by_key(|result: &SampleResult| result.index);
    results
}

fn shots<'a>(rendered: &'a RenderedDataset, sample: &Sample) -> Vec<&'a Shot> {
    sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect()
}

/// Compares context and continuation of every request, for a model without a chat template.
fn compare_texts(rendered: &RenderedDataset, sample: &Sample, expected: &Value, what: &str) {
    let shots = shots(rendered, sample);
    let text = |prompt: &compass_plan::prompt::Prompt| prompt.render(&shots, &rendered.format);
    let ours: Vec<(String, Option<&str>)> = match &sample.body {
        Body::Gen { prompt } => vec![(text(prompt), None)],
        Body::Loglikelihood { context, options } => {
            options.iter().map(|option| (text(context), Some(option.continuation.as_str()))).collect()
        }
        other => panic!("{other:?}"),
    };
    let theirs = expected["arguments"].as_array().unwrap();
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for ((context, continuation), theirs) in ours.iter().zip(theirs) {
        assert_eq!(theirs[0], context.as_str(), "{what}");
        assert!(continuation.is_none_or(|continuation| theirs[1] == continuation), "{what}: {continuation:?}");
    }
}

/// Compares every score and every metric of a sample.
fn compare_scores(sample: &Sample, result: &SampleResult, dataset: &DatasetConfig, expected: &Value, what: &str) {
    match &result.outcome {
        Outcome::Loglikelihood(scores) => {
            let theirs = expected["resps"].as_array().unwrap();
            assert_eq!(scores.len(), theirs.len(), "{what}");
            for (score, theirs) in scores.iter().zip(theirs) {
                let off = (score.sum - theirs[0].as_f64().unwrap()).abs();
                assert!(off < 1e-4 * f64::from(score.tokens), "{what}: {score:?} and {theirs}");
                assert_eq!(theirs[1], score.is_greedy, "{what}: {score:?} and {theirs}");
            }
        }
        Outcome::Generated(answers) => assert_eq!(expected["resps"][0], answers[0].text, "{what}"),
        other => panic!("{what}: {other:?}"),
    }
    let score = judge(sample, result, &dataset.eval).unwrap();
    let mut judged = 0;
    for contribution in &score.contributions {
        let theirs = &expected[if contribution.name == "mc2" { "acc" } else { &contribution.name }];
        let ours = match contribution.item {
            SampleValue::Hit(hit) => f64::from(u8::from(hit)),
            SampleValue::Score(score) => score,
            ref other => panic!("{other:?}"),
        };
        assert!((ours - theirs.as_f64().unwrap()).abs() < 1e-4, "{what}: {} {ours} and {theirs}", contribution.name);
        judged += 1;
    }
    assert!(judged > 0, "{what}: {score:?}");
}

fn compare(name: &str) {
    let golden = golden("tasks.json");
    let wanted = &golden["runs"][name];
    let (mut engine, plan) = engine_of(wanted, NumericProfile::LmEvalHf);
    let (test, train) = (rows(&golden, "test"), rows(&golden, "train"));
    let tasks = wanted["tasks"].as_object().unwrap();
    assert!(!tasks.is_empty());
    for (task, expected) in tasks {
        let dataset = dataset_of(&golden["tasks"][task]);
        let output = dataset.output_column.as_deref();
        let rendered = render(&dataset.prompt, &dataset.infer, output, &dataset.retriever, &test, &train);
        let rendered = rendered.unwrap_or_else(|errors| panic!("{task}: {errors:?}"));
        let results = run(engine.as_mut(), &plan, &dataset, &rendered);
        let expected = expected["samples"].as_array().unwrap();
        assert_eq!((rendered.samples.len(), results.len()), (expected.len(), expected.len()));
        for ((sample, result), expected) in rendered.samples.iter().zip(&results).zip(expected) {
            let what = format!("{name} {task} {}", sample.index);
            if !plan.chat {
                compare_texts(&rendered, sample, expected, &what);
            }
            compare_scores(sample, result, &dataset, expected, &what);
            assert_eq!(result.fit.shots_kept as usize, sample.shots.len(), "{what}: lm-eval drops no shot");
        }
    }
}

#[test]
fn tasks_in_plain_text() {
    compare("plain");
}

#[test]
fn long_few_shot_prompts_are_truncated_on_the_left() {
    compare("short");
}

#[test]
fn shots_as_turns_of_a_chat() {
    compare("turns");
}

#[test]
fn shots_in_one_turn_of_a_chat() {
    compare("one_turn");
}

#[test]
fn template_that_rejects_the_system_role() {
    compare("no_system");
}

/// The chat model's messages equal lm-eval's.
#[test]
fn started_answer_is_the_assistants() {
    let golden = golden("tasks.json");
    let dataset = dataset_of(&golden["tasks"]["begun"]);
    let (test, train) = (rows(&golden, "test"), rows(&golden, "train"));
    let rendered = render(&dataset.prompt, &dataset.infer, None, &dataset.retriever, &test, &train).unwrap();
    let sample = &rendered.samples[0];
    let Body::Loglikelihood { context, .. } = &sample.body else { panic!("{sample:?}") };
    let meta = MetaTemplate::chat();
    let prompt =
        context.render_for(&shots(&rendered, sample), &rendered.format, Some(&meta), dataset.infer.prompt_mode());
    let RenderedPrompt::Messages(messages) = prompt else { panic!("{prompt:?}") };
    let text: String = messages.iter().map(|message| format!("[{}] {}\n", message.role, message.content)).collect();
    let theirs = golden["runs"]["turns"]["tasks"]["begun"]["samples"][0]["arguments"][0][0].as_str().unwrap();
    assert_eq!(text.trim_end(), theirs);
}
