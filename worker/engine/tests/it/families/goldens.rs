//! Logits of tiny random models of every family, compared with transformers' (`tests/goldens`).

use crate::families::support::{copy_of, golden_cases, load, other_goldens, tolerance};
use compass_plan::Dtype;
use safetensors::SafeTensors;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The first row whose logits a decode shares with a prefill of the whole. transformers' `dynamic` rotates cached
/// tokens by other frequencies than a prefill, so there is no such row; `longrope` restarts where its frequencies change, and
/// rows before that point were computed as the shorter sequence that they were then.
fn first_decoded_row(case: &str, length: usize) -> usize {
    match case {
        "llama-dynamic" | "internlm2-biases-dynamic" | "internlm3-biases-dynamic" => length,
        "phi3-longrope" | "phi4-mini" if length > 32 => 32,
        _ => 0,
    }
}

/// One sequence of a case.
struct Golden {
    tokens: Vec<u32>,
    logits: Vec<f32>,
    bfloat16: Option<Vec<f32>>,
    float16: Option<Vec<f32>>,
}

fn goldens(case: &Path) -> Vec<Golden> {
    let bytes = std::fs::read(case.join("golden.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let floats = |name: &str| {
        let data = tensors.tensor(name).ok()?.data().to_vec();
        Some(data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect::<Vec<f32>>())
    };
    let golden = |place: usize| {
        let tokens = tensors.tensor(&format!("tokens.{place}")).ok()?.data().to_vec();
        let ids = tokens.chunks_exact(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()) as u32);
        Some(Golden {
            tokens: ids.collect(),
            logits: floats(&format!("logits.{place}")).unwrap(),
            bfloat16: floats(&format!("logits.{place}.bfloat16")),
            float16: floats(&format!("logits.{place}.float16")),
        })
    };
    (0..).map_while(golden).collect()
}

/// Returns the largest difference relative to the largest logit, and the number of bit-equal logits.
fn compare(got: &[f32], wanted: &[f32]) -> (f64, usize) {
    assert_eq!(got.len(), wanted.len());
    if wanted.is_empty() {
        return (0.0, 0);
    }
    let off = got.iter().zip(wanted).map(|(got, wanted)| f64::from((got - wanted).abs())).fold(0.0, f64::max);
    assert!(got.iter().all(|logit| logit.is_finite()));
    let largest = wanted.iter().map(|logit| f64::from(logit.abs())).fold(0.0, f64::max);
    let equal = got.iter().zip(wanted).filter(|(got, wanted)| got.to_bits() == wanted.to_bits()).count();
    (off / largest, equal)
}

#[test]
fn fp32_logits_are_those_of_transformers() {
    let cases = golden_cases();
    // Goldens of another version are of other products in fp32.
    let (least, bound) = if other_goldens().is_some() { (1, 5e-6) } else { (54, 1e-6) };
    assert!(cases.len() >= least, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for (name, path) in &cases {
        let mut model = load(path, Dtype::Float32, 2).unwrap();
        for golden in goldens(path) {
            let length = golden.tokens.len();
            let (off, equal) = compare(&model.prefill(&golden.tokens).unwrap(), &golden.logits);
            eprintln!("{name}, {length} tokens: {equal} of {} bits equal, off by {off:.1e}", golden.logits.len());
            if off > tolerance(bound) {
                failures.push(format!("{name}, {length} tokens: prefill off by {off:.1e}"));
            }
            for prompt in [1, length.div_ceil(2)] {
                let from = first_decoded_row(name, length) * model.vocabulary();
                let decoded = model.decode(&golden.tokens, prompt).unwrap();
                let (off, _) = compare(&decoded[from..], &golden.logits[from..]);
                if off > tolerance(5e-6) {
                    failures.push(format!("{name}, {length} tokens: decode from {prompt} off by {off:.1e}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn halved_precision_is_within_its_resolution() {
    let mut compared = 0;
    for (name, path) in golden_cases() {
        for (dtype, resolution) in [(Dtype::Bfloat16, 2f64.powi(-8)), (Dtype::Float16, 2f64.powi(-11))] {
            for golden in goldens(&path) {
                let wanted = if dtype == Dtype::Bfloat16 { &golden.bfloat16 } else { &golden.float16 };
                let Some(wanted) = wanted else { continue };
                let got = load(&path, dtype, 2).unwrap().prefill(&golden.tokens).unwrap();
                let (off, equal) = compare(&got, wanted);
                let (theirs, _) = compare(wanted, &golden.logits);
                eprintln!(
                    "{name}, {dtype:?}: {equal} of {} bits equal, off by {off:.1e}; theirs from fp32 {theirs:.1e}",
                    got.len()
                );
                assert!(off <= 8.0 * resolution, "{name}, {dtype:?}: off by {off:.1e}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 38, "only {compared} runs");
}

#[test]
fn bits_do_not_vary_with_threads() {
    let mut failures = Vec::new();
    for (name, path) in golden_cases() {
        let Some(golden) = goldens(&path).pop() else { continue };
        let bits = |threads| -> Vec<u32> {
            let mut model = load(&path, Dtype::Float32, threads).unwrap();
            let mut logits = model.prefill(&golden.tokens).unwrap();
            logits.extend(model.decode(&golden.tokens, golden.tokens.len() - 3).unwrap());
            logits.iter().map(|logit| logit.to_bits()).collect()
        };
        let alone = bits(1);
        let differing: Vec<u32> = [2, 3].into_iter().filter(|&threads| bits(threads) != alone).collect();
        if !differing.is_empty() {
            failures.push(format!("{name}: {differing:?} threads"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Writes a configuration of transformers 4.57 as 5.24 does: all of the rotary embedding is in `rope_parameters`, by kind of layer for
/// Gemma 3; the experts of Qwen3-MoE have Mixtral's name.
fn as_version_5_writes(keys: &mut Map<String, Value>) {
    let mut rope = match keys.remove("rope_scaling") {
        Some(Value::Object(scaling)) => scaling,
        _ => json!({"rope_type": "default"}).as_object().unwrap().clone(),
    };
    let mut theta = keys.remove("rope_theta");
    theta = keys.remove("rotary_emb_base").or(theta);
    let part = keys.remove("partial_rotary_factor");
    let part = keys.remove("rotary_pct").or(part);
    rope.extend(part.map(|part| ("partial_rotary_factor".to_owned(), part)));
    let local = keys.remove("rope_local_base_freq");
    let is_rotary = theta.is_some() || keys.contains_key("sliding_window_pattern");
    rope.extend(theta.map(|theta| ("rope_theta".to_owned(), theta)));
    if local.is_some() || keys.contains_key("sliding_window_pattern") {
        let sliding = json!({"rope_theta": local.unwrap_or(json!(10000.0)), "rope_type": "default"});
        keys.insert("rope_parameters".into(), json!({"full_attention": rope, "sliding_attention": sliding}));
    } else if is_rotary {
        keys.insert("rope_parameters".into(), Value::Object(rope));
    }
    if keys.get("model_type") == Some(&json!("qwen3_moe")) {
        let experts = keys.remove("num_experts").unwrap();
        keys.insert("num_local_experts".into(), experts);
    }
    if keys.get("model_type") == Some(&json!("qwen2_moe")) && keys["use_sliding_window"] == false {
        keys.insert("sliding_window".into(), json!(0));
    }
    if let Some(Value::Object(text)) = keys.get_mut("text_config") {
        as_version_5_writes(text);
    }
}

#[test]
fn configurations_of_transformers_5_are_those_of_4_57() {
    let mut changed = 0;
    for (name, path) in golden_cases() {
        let Ok(text) = std::fs::read_to_string(path.join("config.json")) else { continue };
        let mut keys: Map<String, Value> = serde_json::from_str(&text).unwrap();
        let before = keys.clone();
        as_version_5_writes(&mut keys);
        let folder = copy_of(&name);
        std::fs::write(folder.path().join("config.json"), Value::Object(keys.clone()).to_string()).unwrap();
        changed += usize::from(keys != before);
        let tokens = goldens(&path).pop().unwrap().tokens;
        let logits = |folder: &Path| load(folder, Dtype::Float32, 1).unwrap().prefill(&tokens).unwrap();
        assert_eq!(logits(folder.path()), logits(&path), "{name}");
    }
    assert!(changed >= 40, "only {changed} differ");
}
