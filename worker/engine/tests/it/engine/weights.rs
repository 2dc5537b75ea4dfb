//! Digests of models: the engine computes the same digest as a planner, and loads nothing else under its name.

use crate::engine::support::{TinyModel, ppl_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::{BatchSpec, EngineFault, Request, UnableKind};
use compass_plan::prompt::ShotFormat;
use compass_plan::weights::{Pin, read};
use compass_plan::{GenerationDefaults, InferSpec, ModelKind, ModelPlan};
use std::path::Path;

fn planned(plan: &ModelPlan) -> Pin {
    let weights = read(Path::new(&plan.path), Path::new(&plan.tokenizer_path), None, plan.kind).unwrap();
    Pin { weights, generation: GenerationDefaults::default() }
}

fn loaded(plan: &ModelPlan) -> Result<Pin, EngineFault> {
    compass_engine::load(plan, &DeviceChoice::Cpu, 1).map(|engine| engine.facts().pin.clone().unwrap())
}

#[test]
fn engine_and_planner_agree_on_digests_in_every_layout() {
    let directory = tempfile::tempdir().unwrap();
    let model = TinyModel::default();
    model.write(directory.path());
    let plan = tiny_plan(directory.path());
    assert_eq!(loaded(&plan).unwrap(), planned(&plan));
    // In shards, in the order of their names.
    std::fs::remove_file(directory.path().join("model.safetensors")).unwrap();
    let of = |name: &str| if name.contains("layers.1") { "b.safetensors" } else { "a.safetensors" };
    for shard in ["a.safetensors", "b.safetensors"] {
        model.write_weights(&directory.path().join(shard), |name| of(name) == shard);
    }
    let map: serde_json::Map<_, _> = model.tensors.keys().map(|name| (name.clone(), of(name).into())).collect();
    let index = serde_json::json!({ "weight_map": map });
    std::fs::write(directory.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
    assert_eq!(loaded(&plan).unwrap(), planned(&plan));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (kind, case, tokenizer) in
        [(ModelKind::Llama, "meta-llama-2", "tokenizer.model"), (ModelKind::InternLm, "internlm-ranks", "V7.model")]
    {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(tests.join("tokenizer/goldens/bpe.model"), folder.path().join(tokenizer)).unwrap();
        let path = tests.join("goldens").join(case).display().to_string();
        let plan =
            ModelPlan { tokenizer_path: folder.path().display().to_string(), ..ModelPlan::new(case, kind, path) };
        let found = loaded(&plan).unwrap();
        assert_eq!(found, planned(&plan), "{case}");
        assert!(found.weights.files.len() > 2, "{:?}", found.weights.files);
    }
}

#[test]
fn files_that_are_not_pinned_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.write(directory.path());
    let mut plan = tiny_plan(directory.path());
    let pin = planned(&plan);
    plan.pin = Some(pin.clone());
    assert_eq!(loaded(&plan).unwrap(), pin);
    let values = &mut model.tensors.get_mut("model.layers.1.self_attn.q_proj.weight").unwrap().1;
    values[288] = -values[288];
    model.write(directory.path());
    let fault = loaded(&plan).unwrap_err();
    assert_eq!(fault.kind(), UnableKind::Content);
    let (message, other) = (fault.to_string(), planned(&plan));
    let digests = [pin.weights.digest.short(), other.weights.digest.short()];
    for part in digests.iter().map(String::as_str).chain(["model.safetensors has other content"]) {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    plan.pin = Some(other.clone());
    assert_eq!(loaded(&plan).unwrap(), other);
    std::fs::write(directory.path().join("generation_config.json"), r#"{"temperature": 0.5}"#).unwrap();
    let message = loaded(&plan).unwrap_err().to_string();
    assert!(message.contains("generation_config.json is one too many"), "{message}");
    // Without a pin, the facts have the digest.
    plan.pin = None;
    let found = loaded(&plan).unwrap();
    assert_eq!(found.generation.temperature, Some(0.5));
    assert_eq!(found.weights, planned(&plan).weights);
}

#[test]
fn replaced_file_is_not_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.write(directory.path());
    let plan = tiny_plan(directory.path());
    let engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    let before = engine.facts().pin.clone().unwrap();
    // As a trainer does: another file under the same name. The mapped file stays unchanged.
    model.tensors.get_mut("lm_head.weight").unwrap().1.iter_mut().for_each(|value| *value = -*value);
    model.write_weights(&directory.path().join("new"), |_| true);
    std::fs::rename(directory.path().join("new"), directory.path().join("model.safetensors")).unwrap();
    assert_eq!(engine.facts().pin.as_ref(), Some(&before));
    assert_ne!(loaded(&plan).unwrap().weights, before.weights);
}

#[test]
fn no_result_is_handed_out_once_the_weights_were_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.write(directory.path());
    let plan = tiny_plan(directory.path());
    let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    let samples = [ppl_sample(0, &["ab", "ba"])];
    assert_eq!(run_all(engine.as_mut(), &InferSpec::Ppl, &samples).0.len(), 1);
    // Over the very file that is mapped, as a trainer does that overwrites its latest checkpoint.
    model.tensors.get_mut("lm_head.weight").unwrap().1.iter_mut().for_each(|value| *value = -*value);
    model.write_weights(&directory.path().join("new"), |_| true);
    let bytes = std::fs::read(directory.path().join("new")).unwrap();
    let mut file = std::fs::File::options().write(true).open(directory.path().join("model.safetensors")).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    let spec = BatchSpec {
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        meta_template: None,
        takes_programs: false,
    };
    let requests = samples.iter().map(|sample| Request::new(sample, Vec::new())).collect::<Vec<_>>();
    let mut results = 0;
    let fault = engine.run(&spec, &requests, &mut |_| results += 1).unwrap_err();
    assert_eq!((results, fault.kind()), (0, UnableKind::Missing));
    assert!(fault.to_string().ends_with("model.safetensors: it was written to while the model was in use"), "{fault}");
}
