//! Adapters in an object store and on the hub: merged as from a directory on this host.

use crate::elsewhere::job::{LOCAL, SECRET, expected, job, outcome, store, write_profile};
use compass_mirrors::HubMirror;
use compass_tests::{copy_demo_model, demo_model};
use safetensors::tensor::{Dtype, TensorView};
use std::path::Path;

/// An adapter of the demo's model that changes what it answers.
fn write_adapter(folder: &Path) {
    let text = std::fs::read_to_string(demo_model().join("config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hidden = config["hidden_size"].as_u64().unwrap() as usize;
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(
        folder.join("adapter_config.json"),
        r#"{"peft_type": "LORA", "lora_alpha": 64, "r": 1, "target_modules": ["o_proj"]}"#,
    )
    .unwrap();
    let ones: Vec<u8> = (0..hidden).flat_map(|at| (at as f32 / hidden as f32 - 0.5).to_le_bytes()).collect();
    let of = |name: &str| format!("base_model.model.model.layers.0.self_attn.o_proj.{name}.weight");
    let view = |shape: [usize; 2]| TensorView::new(Dtype::F32, shape.to_vec(), &ones).unwrap();
    let tensors = [(of("lora_A"), view([1, hidden])), (of("lora_B"), view([hidden, 1]))];
    std::fs::write(folder.join("adapter_model.safetensors"), safetensors::serialize(tensors, None).unwrap()).unwrap();
}

#[test]
#[ignore = "nightly"]
fn an_adapter_gives_the_same_numbers_from_wherever_it_comes() {
    let from = |path: &str, prepare: &dyn Fn(&mut compass_tests::Job)| {
        let mut job = job(&format!("path = \"model\"\npeft_path = \"{path}\""), "rows.jsonl", LOCAL);
        copy_demo_model(&job.path("model")).unwrap();
        prepare(&mut job);
        let finished = job.run(&[]).expect(0);
        let plan = std::fs::read_to_string(job.latest().join("plan/job.json")).unwrap();
        (outcome(&job), plan, finished.stderr)
    };
    let (local, ..) = from("lora", &|job| write_adapter(&job.path("lora")));
    assert!(local != expected(), "the adapter changes what is answered");
    let adapter = tempfile::tempdir().unwrap();
    write_adapter(adapter.path());
    let server = store();
    server.put_folder("models", "adapters/lora", adapter.path()).unwrap();
    let (stored, plan, said) = from("weights:s3://models/adapters/lora/", &|job| write_profile(job, &server, SECRET));
    assert!(stored == local, "{said}");
    assert!(plan.contains("weights:s3://models/adapters/lora"), "{plan}");
    let mirror = HubMirror::start().unwrap();
    mirror.put_folder("org/lora", adapter.path()).unwrap();
    let (named, plan, said) = from("org/lora", &|job| {
        let home = job.path("hf").display().to_string();
        job.set_env("HF_HOME", &home);
        job.set_env("HF_ENDPOINT", &mirror.url());
    });
    assert!(named == local, "{said}");
    assert!(plan.contains(&format!("hub:org/lora@{}", mirror.commit())), "{plan}");
}

#[test]
#[ignore = "nightly"]
fn a_folder_without_an_adapter_is_told() {
    let server = store();
    let job = job("path = \"model\"\npeft_path = \"weights:s3://models/demo/7b/\"", "rows.jsonl", LOCAL);
    copy_demo_model(&job.path("model")).unwrap();
    write_profile(&job, &server, SECRET);
    let said = job.run(&[]).expect(2).stderr;
    assert!(
        said.contains(
            "`weights:s3://models/demo/7b` holds no adapter: adapter_config.json and its weights are not both there"
        ),
        "{said}"
    );
}
