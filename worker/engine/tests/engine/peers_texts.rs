//! Texts of the same model as OpenCompass and lm-eval generated them, sample by sample.

use crate::peers::engine_for;
use crate::support::{gen_spec, generated, prompt_sample, read_json, read_jsonl, run_all, shared};
use compass_plan::engine::Engine;
use compass_plan::{InferSpec, NumericProfile, Sample};
use serde_json::Value;

/// Continues every prompt and compares the texts.
fn compare(engine: &mut dyn Engine, what: &str, infer: &InferSpec, pairs: &[(&str, &str)]) {
    let samples: Vec<Sample> = pairs.iter().enumerate().map(|(at, (prompt, _))| prompt_sample(at, prompt)).collect();
    let (results, _) = run_all(engine, infer, &samples);
    for ((_, expected), result) in pairs.iter().zip(&results) {
        assert_eq!(generated(result).text, *expected, "{what}: sample {}", result.index);
    }
    eprintln!("{what}: {} texts are equal", pairs.len());
}

/// The first `most` rows of a predictions file, whose runs generated at most so many tokens.
fn compare_opencompass(file: &str, max_out_len: u32, most: usize) {
    let Some(mut engine) = engine_for(NumericProfile::Opencompass) else { return };
    let Some(path) = shared(&format!("golden/opencompass/{file}.json")) else { return };
    let predictions = read_json(&path);
    let of = |row: &'_ Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows: Vec<(String, String)> = predictions
        .as_object()
        .unwrap()
        .values()
        .map(|row| (of(row, "origin_prompt"), of(row, "prediction")))
        .collect();
    let pairs: Vec<(&str, &str)> = rows.iter().take(most).map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert!(!pairs.is_empty());
    compare(engine.as_mut(), file, &gen_spec(max_out_len, &[]), &pairs);
}

/// 24 tokens is what the reference runs used where the configuration says nothing.
#[test]
fn opencompass_short_answers() {
    compare_opencompass("piqa_gen_1194eb/predictions/piqa", 24, 40);
    compare_opencompass("ARC_e_gen_1e0de5/predictions/ARC-e", 24, 40);
    compare_opencompass("mmlu_gen_4d595a/predictions/lukaemon_mmlu_marketing", 24, 10);
    compare_opencompass("agieval_gen_a0c741/predictions/agieval-sat-math", 24, 6);
}

#[test]
fn opencompass_long_answers() {
    compare_opencompass("humaneval_gen_8e312c/predictions/openai_humaneval", 512, 2);
    compare_opencompass("mgsm_gen_d967bc/predictions/mgsm_zh", 512, 2);
    compare_opencompass("bbh_gen_5b92b0/predictions/bbh-object_counting", 512, 1);
}

#[test]
fn lm_eval_gsm8k() {
    let Some(path) = shared("golden/lm-eval/samples_g_gsm8k.jsonl") else { return };
    let rows = read_jsonl(&path);
    let prompts = rows.iter().map(|row| row["arguments"]["gen_args_0"]["arg_0"].as_str().unwrap());
    let texts = rows.iter().map(|row| row["resps"][0][0].as_str().unwrap());
    let pairs: Vec<(&str, &str)> = prompts.zip(texts).collect();
    for profile in [NumericProfile::LmEvalHf, NumericProfile::Canonical] {
        let Some(mut engine) = engine_for(profile) else { return };
        compare(engine.as_mut(), "gsm8k", &gen_spec(48, &["Question:"]), &pairs);
    }
    assert_eq!(pairs.len(), 16);
}
