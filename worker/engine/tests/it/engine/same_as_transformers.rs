//! transformers' `generate` on tiny random models, token for token: greedy, penalised, and with a minimum length.

use crate::engine::support::{generated, golden, prompt_sample, run_all};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::{BosPolicy, GenSpec, InferSpec, ModelKind, ModelPlan};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Loads a model of the families' goldens with a tokenizer whose words are ids: `t7 t9` is 7 and 9.
fn load(family: &str, vocabulary: u64) -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(family);
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(source.join(name), directory.path().join(name)).unwrap();
    }
    let words = (0..vocabulary).map(|id| (format!("t{id}"), json!(id))).collect::<serde_json::Map<_, _>>();
    let tokenizer = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "t0"}});
    std::fs::write(directory.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(directory.path().join("tokenizer_config.json"), "{}").unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    let plan = ModelPlan { bos: BosPolicy::Never, ..ModelPlan::new(family, ModelKind::Hf, path) };
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn words(ids: &Value) -> String {
    ids.as_array().unwrap().iter().map(|id| format!("t{id}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_rules_on_all_families() {
    let golden = golden("requests.json");
    let mut engines = BTreeMap::new();
    let cases = golden["generate"].as_array().unwrap();
    for case in cases {
        let family = case["family"].as_str().unwrap();
        let engine = engines.entry(family).or_insert_with(|| load(family, case["vocabulary"].as_u64().unwrap()));
        let number = |key: &str| case[key].as_u64().map(|number| number as u32);
        let mut spec = GenSpec { max_out_len: number("max_new_tokens"), ..GenSpec::default() };
        spec.min_out_len = number("min_new_tokens");
        spec.decoding.repetition_penalty = case["repetition_penalty"].as_f64();
        spec.decoding.stop_ids = vec![2];
        let sample = prompt_sample(0, &words(&case["prompt"]));
        let (results, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec), &[sample]);
        assert_eq!(generated(&results[0]).text, words(&case["answer"]), "{case}");
    }
    assert_eq!((cases.len(), engines.len()), (96, 8));
}
