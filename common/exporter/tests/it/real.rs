//! The real OpenCompass: `COMPASS_OPENCOMPASS_PYTHON` names a Python that has it.

use compass_exporter::{Exporter, Limits};
use compass_settings::{Interpreter, LoaderCall, LoaderWorld, RowLoader as _};

#[test]
fn rows_of_the_real_loaders() {
    let Some(program) = std::env::var_os("COMPASS_OPENCOMPASS_PYTHON") else {
        eprintln!("skipped: COMPASS_OPENCOMPASS_PYTHON names no Python that has OpenCompass");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("CLUE/CMRC")).unwrap();
    let text = r#"{"data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": [{"text": "a"}, {"text": "a"}]}]}]}]}"#;
    std::fs::write(data.join("CLUE/CMRC/dev.json"), text).unwrap();
    let world = LoaderWorld {
        data_dir: data,
        variables: std::env::vars().collect(),
        interpreter: Some(Interpreter { program: program.into(), network: false }),
        ..LoaderWorld::default()
    };
    let call = |class: &str, path: &str| LoaderCall {
        class: format!("opencompass.datasets.{class}"),
        parameters: [("path".to_owned(), serde_json::json!(path))].into_iter().collect(),
        splits: vec!["test".into()],
    };
    let exporter = Exporter::new(&folder.path().join("state"), Limits::default());
    let results = exporter
        .load(&world, &[call("CMRCDataset", "opencompass/cmrc_dev"), call("DRCDDataset", "opencompass/drcd_dev")]);
    let rows = results[0].as_ref().unwrap_or_else(|none| panic!("{none:?}"));
    let text = std::fs::read_to_string(rows.file("test").unwrap()).unwrap();
    assert_eq!(text, "{\"context\": \"c\", \"question\": \"q\", \"answers\": [\"a\"]}\n");
    let none = results[1].as_ref().unwrap_err();
    assert!(none.help.as_deref().unwrap().contains("--data-dir"), "{none:?}");
}
