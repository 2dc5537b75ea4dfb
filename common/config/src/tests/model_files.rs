//! Directories of models in each layout, and what is said of one that is in another.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::ModelKind;

/// A model of a kind in `models/other`.
fn of_kind(kind: &str) -> String {
    MODEL.replace("\"hf\"", &format!("\"{kind}\"")).replace("models/tiny", "models/other") + DATASET
}

#[test]
fn each_layout_by_its_own_files() {
    for (kind, expected, files) in [
        ("llama", ModelKind::Llama, ["params.json", "consolidated.00.pth", "tokenizer.model"]),
        ("internlm", ModelKind::InternLm, ["model_config.pt", "model_tp0_pp0.pt", "V7.model"]),
    ] {
        let fixture = Fixture::new();
        for (place, file) in files.iter().enumerate() {
            assert_eq!(fixture.places(&of_kind(kind)).len(), 1, "{kind} with {:?}", &files[..place]);
            fixture.write(&format!("models/other/{file}"), "");
        }
        let model = fixture.good(&of_kind(kind)).models.remove(0);
        assert_eq!((model.kind, model.path), (expected, fixture.path("models/other")));
        assert_eq!(model.tokenizer_path, fixture.path("models/other"));
        // As configurations for those projects' own code name it.
        let file = format!("tokenizer_path = \"models/other/{}\"\n[[dataset]]", files[2]);
        let model = fixture.good(&of_kind(kind).replacen("[[dataset]]", &file, 1)).models.remove(0);
        assert_eq!(model.tokenizer_path, fixture.path("models/other"));
    }
}

#[test]
fn a_directory_in_another_layout() {
    let fixture = Fixture::new();
    fixture.write("models/other/params.json", "{}");
    let said = fixture.bad(&of_kind("hf"));
    assert!(said.contains("holds no config.json") && said.contains("`type = \"llama\"`"), "{said}");
    let said = fixture.bad(&of_kind("internlm"));
    assert!(said.contains("holds no model_config.pt") && said.contains("name a directory with"), "{said}");
    let fixture = Fixture::new();
    fixture.write("models/other/model_config.pt", "");
    let said = fixture.bad(&of_kind("hf"));
    assert!(said.contains("`type = \"internlm\"`"), "{said}");
    let said = fixture.bad(&of_kind("llama").replace("models/other", "models/tiny"));
    assert!(said.contains("holds no params.json") && said.contains("`type = \"hf\"`"), "{said}");
}

#[test]
fn models_come_by_name_from_the_cache_of_the_hub() {
    let mut fixture = Fixture::new();
    let snapshot = "hub/models--facebook--opt-125m/snapshots/0123";
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fixture.write(&format!("{snapshot}/{file}"), "{}");
    }
    fixture.write("hub/models--facebook--opt-125m/refs/main", "0123");
    fixture.flags.hub_caches = vec![fixture.path("hub")];
    fixture.flags.models = Some(vec!["hf_opt_125m".into()]);
    let config = fixture.good(DATASET);
    assert_eq!(config.models.len(), 1);
    assert_eq!(
        (config.models[0].abbr.as_str(), config.models[0].path.clone()),
        ("opt-125m-hf", fixture.path(snapshot))
    );
    fixture.flags.models = Some(vec!["hf_llama2_7b".into()]);
    let shown = fixture.bad(DATASET);
    assert!(shown.contains("no directory `meta-llama/Llama-2-7b-hf`"), "{shown}");
    fixture.flags.models = Some(vec!["hf_lama2_7b".into()]);
    let shown = fixture.bad(DATASET);
    assert!(shown.contains("did you mean `hf_llama2_7b`? `compass-master models`"), "{shown}");
}

#[test]
fn a_hub_id_is_found_in_the_cache_of_the_hub() {
    let mut fixture = Fixture::new();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fixture.write(&format!("hub/models--org--name/snapshots/9/{file}"), "{}");
    }
    fixture.flags.hub_caches = vec![fixture.path("hub")];
    let config = fixture.good(&(MODEL.replace("models/tiny", "org/name") + DATASET));
    assert_eq!(config.models[0].path, fixture.path("hub/models--org--name/snapshots/9"));
}

#[test]
fn weights_in_formats_that_are_not_supported_are_refused_by_name() {
    let fixture = Fixture::new();
    let quantised =
        |config: &str| fixture.write("models/tiny/config.json", &format!("{{\"quantization_config\": {config}}}"));
    for (config, name) in [
        (r#"{"quant_method": "gptq", "bits": 4}"#, "GPTQ"),
        (r#"{"quant_method": "awq"}"#, "AWQ"),
        (r#"{"quant_method": "bitsandbytes", "load_in_4bit": true}"#, "bitsandbytes"),
    ] {
        quantised(config);
        let text = MODEL.to_owned() + DATASET;
        let said = format!("eval.toml:4:8: `models/tiny`: {name} weights (quantization_config) are not supported");
        assert_eq!(fixture.places(&text), [said]);
        assert!(fixture.bad(&text).contains("use the checkpoint that they were made from"), "{name}");
    }
    quantised("null");
    fixture.good(&(MODEL.to_owned() + DATASET));
}

#[test]
fn architectures_that_no_engine_loads_are_refused_by_name() {
    let fixture = Fixture::new();
    for (config, said, help) in [
        (
            r#"{"architectures": ["MambaForCausalLM"], "time_step_limit": [0.0, Infinity], "x": NaN}"#,
            "architecture MambaForCausalLM is not supported: its layers carry a recurrent state",
            "use a transformer",
        ),
        (
            r#"{"model_type": "futura"}"#,
            "architecture futura is not supported",
            "supported are DeepseekV2, DeepseekV3, GPTNeoX, Gemma, ",
        ),
    ] {
        fixture.write("models/tiny/config.json", config);
        let text = MODEL.to_owned() + DATASET;
        let places = fixture.places(&text);
        assert!(places[0].starts_with(&format!("eval.toml:4:8: `models/tiny`: {said}")), "{places:?}");
        assert!(fixture.bad(&text).contains(&format!("help: {help}")), "{said}");
    }
    fixture
        .write("models/tiny/config.json", r#"{"architectures": ["LlamaForCausalLM"], "attention_dropout": Infinity}"#);
    fixture.good(&(MODEL.to_owned() + DATASET));
}

#[test]
fn gguf_files_and_folders_are_refused_by_name() {
    let fixture = Fixture::new();
    fixture.write("models/other/7b-Q4_K_M.gguf", "GGUF");
    for (path, said) in [
        ("models/other", "`models/other` holds GGUF weights (7b-Q4_K_M.gguf), which are not supported"),
        ("models/other/7b-Q4_K_M.gguf", "`models/other/7b-Q4_K_M.gguf` is a GGUF file, which is not supported"),
    ] {
        let text = MODEL.replace("models/tiny", path) + DATASET;
        assert_eq!(fixture.places(&text), [format!("eval.toml:4:8: {said}")]);
        assert!(fixture.bad(&text).contains("help: use the checkpoint that they were made from"), "{path}");
    }
    // Beside weights that are read it is only another copy.
    fixture.write("models/tiny/7b-Q4_K_M.gguf", "GGUF");
    fixture.good(&(MODEL.to_owned() + DATASET));
}

#[test]
fn fp8_weights_take_more_memory_than_disk_and_it_is_said() {
    let fixture = Fixture::new();
    fixture.write(
        "models/tiny/config.json",
        r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#,
    );
    fixture.write("models/tiny/model.safetensors", &" ".repeat(3 << 20));
    let notes = fixture.notes(&(MODEL.to_owned() + DATASET));
    assert_eq!(
        notes,
        [
            "eval.toml:4:8: `models/tiny` holds fp8 weights, which are dequantised when they are loaded: 3.0 MiB on disk, at most 6.0 MiB in \
          memory with `dtype = \"bfloat16\"`, 12.0 MiB with `float32`"
        ]
    );
}
