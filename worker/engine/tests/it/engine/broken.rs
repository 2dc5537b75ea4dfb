//! Models that cannot be loaded: one message that names the file, the tensor and what to do. Needs no data.

use crate::engine::support::{TinyModel, gen_spec, prompt_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::EngineFault;
use compass_plan::{BosPolicy, Dtype, ModelKind};
use compass_types::result::Outcome;
use serde_json::json;
use std::path::Path;

fn load(directory: &Path) -> Result<(), String> {
    match compass_engine::load(&tiny_plan(directory), &DeviceChoice::Cpu, 1) {
        Ok(_) => Ok(()),
        Err(EngineFault::Missing(what) | EngineFault::Model(what)) => Err(what),
        Err(fault @ (EngineFault::Device(_) | EngineFault::Lost(_) | EngineFault::Refused(_))) => {
            panic!("unexpected fault: {fault}")
        }
    }
}

/// Writes a tiny model, damages it, and returns the message of `load`.
fn fault(damage: impl FnOnce(&Path, &mut TinyModel)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.write(directory.path());
    load(directory.path()).unwrap();
    damage(directory.path(), &mut model);
    let message = load(directory.path()).unwrap_err();
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

const Q_PROJ: &str = "model.layers.1.self_attn.q_proj.weight";

#[test]
fn missing_tensor() {
    let message = fault(|path, model| {
        model.tensors.remove(Q_PROJ);
        model.write(path);
    });
    assert_names(&message, &["model.safetensors", Q_PROJ, "missing", "config.json"]);
}

#[test]
fn excess_tensor() {
    let message = fault(|path, model| {
        model.tensors.insert("model.layers.2.mlp.up_proj.weight".into(), (vec![1], vec![0.0]));
        model.write(path);
    });
    assert_names(&message, &["model.safetensors", "model.layers.2.mlp.up_proj.weight", "not part of the model"]);
}

#[test]
fn tensor_of_another_shape() {
    let message = fault(|path, model| {
        model.tensors.insert(Q_PROJ.into(), (vec![24, 23], vec![0.0; 24 * 23]));
        model.write(path);
    });
    assert_names(&message, &["model.safetensors", Q_PROJ, "[24, 23]", "[24, 24]"]);
}

#[test]
fn truncated_file() {
    for keep in [0, 5, 100, 5000] {
        let message = fault(|path, _| {
            let file = path.join("model.safetensors");
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(&file, &bytes[..keep]).unwrap();
        });
        assert_names(&message, &["model.safetensors", "fetch it again", &format!("{keep} bytes")]);
    }
}

#[test]
fn invalid_header_and_lfs_pointer() {
    let message = fault(|path, _| std::fs::write(path.join("model.safetensors"), [0xff; 300]).unwrap());
    assert_names(&message, &["model.safetensors", "fetch it again"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let message = fault(|path, _| std::fs::write(path.join("model.safetensors"), pointer).unwrap());
    assert_names(&message, &["model.safetensors", "git lfs pull"]);
}

#[test]
fn missing_and_malformed_files() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let message = fault(|path, _| std::fs::remove_file(path.join(name)).unwrap());
        assert_names(&message, &[name, "no such"]);
    }
    for name in ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
        let message = fault(|path, _| std::fs::write(path.join(name), "{\"a\": ").unwrap());
        assert_names(&message, &[name]);
    }
}

#[test]
fn unsupported_architecture() {
    let message = |name: &str| {
        fault(|path, model| {
            model.config["architectures"] = json!([name]);
            model.write_json(path);
        })
    };
    let known = "Llama, Mistral, Mixtral, OPT, Olmo2, Phi3, Qwen2, Qwen2Moe, Qwen3, Qwen3Moe (each with ForCausalLM)";
    assert_names(&message("FuturaForCausalLM"), &["config.json", "FuturaForCausalLM is not supported", known]);
    assert_names(
        &message("MambaForCausalLM"),
        &["config.json", "MambaForCausalLM is not supported", "recurrent state"],
    );
}

#[test]
fn missing_bos_missing_directory_and_echo_model() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel { tokenizer_config: json!({}), ..TinyModel::default() };
    model.config["bos_token_id"] = json!(null);
    model.write(directory.path());
    let mut plan = tiny_plan(directory.path());
    plan.bos = BosPolicy::Always;
    let message = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).err().unwrap().to_string();
    assert_names(&message, &["tokenizer.json", "add_bos_token = false"]);
    plan.bos = BosPolicy::Never;
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    plan.path.push_str("/nowhere");
    let message = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).err().unwrap().to_string();
    assert_names(&message, &["nowhere", "no such model directory"]);
    plan.kind = ModelKind::Echo;
    assert!(matches!(compass_engine::load(&plan, &DeviceChoice::Cpu, 1), Err(EngineFault::Model(_))));
}

#[test]
fn shards_load_like_one_file_and_must_be_complete() {
    let directory = tempfile::tempdir().unwrap();
    let model = TinyModel::default();
    model.write_json(directory.path());
    let (one, two) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    let first = |name: &str| name.contains("layers.0");
    model.write_weights(&directory.path().join(one), first);
    model.write_weights(&directory.path().join(two), |name| !first(name));
    let place = |name: &String| (name.clone(), json!(if first(name) { one } else { two }));
    let map: serde_json::Map<String, serde_json::Value> = model.tensors.keys().map(place).collect();
    let index = directory.path().join("model.safetensors.index.json");
    std::fs::write(&index, json!({"metadata": {}, "weight_map": map}).to_string()).unwrap();
    load(directory.path()).unwrap();
    model.write_weights(&directory.path().join(two), |name| !first(name) && name != Q_PROJ);
    assert_names(&load(directory.path()).unwrap_err(), &["model.safetensors.index.json", Q_PROJ, "missing"]);
    model.write_weights(&directory.path().join(two), |name| !first(name) || name.contains("layers.0.mlp.up"));
    assert_names(&load(directory.path()).unwrap_err(), &[two, "model.layers.0.mlp.up_proj.weight", "another shard"]);
    std::fs::remove_file(directory.path().join(one)).unwrap();
    assert_names(&load(directory.path()).unwrap_err(), &[one, "no such"]);
}

#[test]
fn harmless_extra_tensors_and_other_number_formats() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.tensors.insert("model.layers.0.self_attn.rotary_emb.inv_freq".into(), (vec![3], vec![1.0, 0.1, 0.01]));
    model.config["tie_word_embeddings"] = json!(true);
    model.write(directory.path());
    for dtype in [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16] {
        let mut plan = tiny_plan(directory.path());
        plan.dtype = dtype;
        let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
        assert!(engine.facts().remarks.iter().any(|note| note.contains("tie_word_embeddings")), "{:?}", engine.facts());
    }
}

#[test]
fn weights_that_are_not_finite() {
    for bad in [f32::NAN, f32::INFINITY] {
        let message = fault(|path, model| {
            model.tensors.get_mut(Q_PROJ).unwrap().1[7] = bad;
            model.write(path);
        });
        assert_names(&message, &["model.safetensors", Q_PROJ, "NaN or infinite"]);
    }
    // Finite in the file, but not in the requested format.
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.tensors.get_mut(Q_PROJ).unwrap().1[7] = 1e6;
    model.write(directory.path());
    let mut plan = tiny_plan(directory.path());
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    plan.dtype = Dtype::Float16;
    let message = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).err().unwrap().to_string();
    assert_names(&message, &["model.safetensors", Q_PROJ, "float32"]);
}

#[test]
fn logits_that_are_no_numbers_fail_the_sample() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    for (name, (_, numbers)) in &mut model.tensors {
        // Finite each, and too large for their product.
        if name.ends_with("up_proj.weight") || name.ends_with("down_proj.weight") {
            numbers.iter_mut().for_each(|number| *number *= 1e30);
        }
    }
    model.write(directory.path());
    let mut engine = compass_engine::load(&tiny_plan(directory.path()), &DeviceChoice::Cpu, 1).unwrap();
    let (results, _) = run_all(engine.as_mut(), &gen_spec(4, &[]), &[prompt_sample(0, "abc")]);
    let Outcome::Failed { reason } = &results[0].outcome else { panic!("{results:?}") };
    assert!(reason.contains("logits are not numbers"), "{reason}");
}

#[test]
fn number_formats_other_than_floats() {
    for (format, says) in [("I32", "stored as I32"), ("F99", "fetch it again")] {
        let message = fault(|path, _| {
            let file = path.join("model.safetensors");
            let mut bytes = std::fs::read(&file).unwrap();
            let name = bytes.windows(Q_PROJ.len()).position(|window| window == Q_PROJ.as_bytes()).unwrap();
            let at = name + bytes[name..].windows(3).position(|window| window == b"F32").unwrap();
            bytes[at..at + 3].copy_from_slice(format.as_bytes());
            std::fs::write(&file, bytes).unwrap();
        });
        assert_names(&message, &["model.safetensors", says]);
    }
}

#[test]
fn index_with_a_shard_elsewhere() {
    for shard in ["../model.safetensors", "/model.safetensors", "there/model.safetensors"] {
        let message = fault(|path, _| {
            std::fs::remove_file(path.join("model.safetensors")).unwrap();
            let index = json!({"weight_map": {Q_PROJ: shard}}).to_string();
            std::fs::write(path.join("model.safetensors.index.json"), index).unwrap();
        });
        assert_names(&message, &["model.safetensors.index.json", shard, "not a file beside it"]);
    }
}
