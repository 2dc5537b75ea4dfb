//! Adapters merged when a model is loaded, compared with `peft`'s own `merge_and_unload` (`tests/adapters`).

use crate::families::support::{device, golden, tolerance};
use compass_engine::BareModel;
use compass_plan::Dtype;
use compass_plan::engine::EngineFault;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as StoredDtype, TensorView};
use std::path::{Path, PathBuf};

/// The cases: the adapter's folder, and its model's.
fn cases() -> Vec<(String, PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    let case = |path: PathBuf| {
        let base = std::fs::read_to_string(path.join("base")).unwrap();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), path, golden(base.trim()))
    };
    folders.into_iter().map(case).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// The largest difference, relative to the largest logit.
fn difference(got: &[f32], wanted: &[f32]) -> f64 {
    assert_eq!(got.len(), wanted.len());
    let off = got.iter().zip(wanted).map(|(got, wanted)| f64::from((got - wanted).abs())).fold(0.0, f64::max);
    off / wanted.iter().map(|logit| f64::from(logit.abs())).fold(0.0, f64::max)
}

#[test]
fn logits_are_those_of_the_model_that_peft_merges() {
    let cases = cases();
    assert_eq!(cases.len(), 7);
    for (name, adapter, base) in cases {
        let bytes = std::fs::read(adapter.join("golden.safetensors")).unwrap();
        let golden = SafeTensors::deserialize(&bytes).unwrap();
        let tokens: Vec<u32> = golden
            .tensor("tokens")
            .unwrap()
            .data()
            .chunks_exact(8)
            .map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()) as u32)
            .collect();
        for (dtype, key, most) in
            [(Dtype::Float32, "logits", tolerance(1e-6)), (Dtype::Bfloat16, "logits.bfloat16", 8.0 * 2f64.powi(-8))]
        {
            let wanted = floats(golden.tensor(key).unwrap().data());
            let mut model = BareModel::load_adapted(&base, &adapter, dtype, &device()).unwrap();
            let off = difference(&model.prefill(&tokens).unwrap(), &wanted);
            let plain =
                difference(&BareModel::load(&base, dtype, &device(), 1).unwrap().prefill(&tokens).unwrap(), &wanted);
            eprintln!("{name}, {dtype:?}: off by {off:.1e}; without the adapter by {plain:.1e}");
            assert!(off <= most && plain > 0.05, "{name}, {dtype:?}: off by {off:.1e}, without it by {plain:.1e}");
        }
    }
}

/// Message about the adapter `case` once `damage` was done to a copy of it.
fn message(case: &str, damage: impl FnOnce(&Path)) -> String {
    let (_, adapter, base) = cases().into_iter().find(|(name, ..)| name == case).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["adapter_config.json", "adapter_model.safetensors"] {
        std::fs::copy(adapter.join(name), folder.path().join(name)).unwrap();
    }
    damage(folder.path());
    match BareModel::load_adapted(&base, folder.path(), Dtype::Float32, &device()) {
        Ok(_) => String::new(),
        Err(EngineFault::Missing(message) | EngineFault::Model(message)) => {
            assert_eq!(message.lines().count(), 1, "{message}");
            message.replace(&format!("{}/", folder.path().display()), "")
        }
        Err(fault) => panic!("unexpected fault: {fault}"),
    }
}

fn set(folder: &Path, key: &str, value: serde_json::Value) {
    let path = folder.join("adapter_config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config[key] = value;
    std::fs::write(path, config.to_string()).unwrap();
}

#[test]
fn what_is_not_merged_is_refused_by_name() {
    assert_eq!(message("lora", |_| {}), "");
    for (key, value, said) in [
        ("peft_type", "IA3".into(), "adapters of type IA3 are not merged, only LORA"),
        ("lora_bias", true.into(), "`lora_bias` is not supported"),
        ("layer_replication", serde_json::json!([[0, 2]]), "`layer_replication` is not supported"),
        (
            "init_lora_weights",
            "pissa_niter_4".into(),
            "`init_lora_weights = \"pissa_niter_4\"` changes the model's own weights",
        ),
        (
            "use_dora",
            true.into(),
            "it has no magnitudes of `model.layers.0.self_attn.q_proj.weight`, and use_dora is true",
        ),
        ("lora_alpha", "x".into(), "adapter_config.json: invalid type: string \"x\", expected f64"),
    ] {
        let message = message("lora", |folder| set(folder, key, value));
        assert!(message.contains(said), "{key}: {message}");
    }
    let gone = |name: &'static str| move |folder: &Path| std::fs::remove_file(folder.join(name)).unwrap();
    assert!(message("lora", gone("adapter_config.json")).starts_with("adapter_config.json: no such file"));
    assert!(message("lora", gone("adapter_model.safetensors")).contains("the adapter has no weights"));
    let cut = message("lora", |folder| {
        let path = folder.join("adapter_model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() - 9]).unwrap();
    });
    assert!(cut.contains("damaged or incomplete safetensors file"), "{cut}");
}

#[test]
fn an_adapter_of_another_model_is_refused() {
    let written = |tensors: &'static [(&'static str, [usize; 2])]| {
        move |folder: &Path| {
            let data = [0u8; 4 * 64 * 64];
            let view = |shape: &[usize; 2]| {
                TensorView::new(StoredDtype::F32, shape.to_vec(), &data[..4 * shape[0] * shape[1]]).unwrap()
            };
            let views = tensors.iter().map(|(name, shape)| (format!("base_model.model.{name}"), view(shape)));
            std::fs::write(folder.join("adapter_model.safetensors"), safetensors::serialize(views, None).unwrap())
                .unwrap();
        }
    };
    let other = message(
        "lora",
        written(&[
            ("model.layers.9.self_attn.q_proj.lora_A.weight", [2, 16]),
            ("model.layers.9.self_attn.q_proj.lora_B.weight", [16, 2]),
        ]),
    );
    assert_eq!(
        other,
        "adapter_config.json: it changes `model.layers.9.self_attn.q_proj.weight`, which the model does not load; adapter and model \
         do not match"
    );
    let wider = message(
        "lora",
        written(&[
            ("model.layers.0.self_attn.q_proj.lora_A.weight", [2, 17]),
            ("model.layers.0.self_attn.q_proj.lora_B.weight", [16, 2]),
        ]),
    );
    assert!(
        wider.contains(
            "lora_B [16, 2] times lora_A [2, 17] does not fit tensor `model.layers.0.self_attn.q_proj.weight`"
        ),
        "{wider}"
    );
    let half = message("lora", written(&[("model.layers.0.self_attn.q_proj.lora_A.weight", [2, 16])]));
    assert!(half.contains("it has no lora_B of `model.layers.0.self_attn.q_proj.weight`"), "{half}");
    let ranks = message(
        "lora",
        written(&[
            ("model.layers.0.self_attn.q_proj.lora_A.weight", [2, 16]),
            ("model.layers.0.self_attn.q_proj.lora_B.weight", [16, 3]),
        ]),
    );
    assert!(ranks.contains("have different ranks"), "{ranks}");
}
