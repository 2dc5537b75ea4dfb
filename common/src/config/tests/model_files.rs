//! Directories of models in each layout, and what is said of one that is in another.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::plan::ModelKind;

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
