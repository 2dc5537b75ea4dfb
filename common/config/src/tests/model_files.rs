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
