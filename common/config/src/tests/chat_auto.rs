//! `--hf-type auto`: a chat where the model has a chat template.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::{HfKind, HfModel};

fn chat(fixture: &Fixture, kind: HfKind) -> (bool, Vec<String>) {
    let mut flags = fixture.flags.clone();
    flags.hf = Some(HfModel { path: fixture.path("models/tiny").display().to_string(), kind });
    fixture.write("eval.toml", DATASET);
    let loaded = crate::load(Some(&fixture.path("eval.toml")), &flags).unwrap_or_else(|errors| panic!("{errors}"));
    (loaded.config.models[0].chat, loaded.notes.into_iter().map(|note| note.message).collect())
}

#[test]
fn a_model_of_the_command_line_is_a_chat_where_it_has_a_template() {
    let fixture = Fixture::new();
    let as_they_are = "model `tiny_hf` has no chat template: prompts are asked as they are";
    assert_eq!(chat(&fixture, HfKind::Auto), (false, vec![as_they_are.to_owned()]));
    assert_eq!(chat(&fixture, HfKind::Chat), (true, vec![]));
    fixture.write("models/tiny/tokenizer_config.json", r#"{"chat_template": "{{ messages }}"}"#);
    let through = "model `tiny_hf` has a chat template: prompts go through it";
    assert_eq!(chat(&fixture, HfKind::Auto), (true, vec![through.to_owned()]));
    assert_eq!(chat(&fixture, HfKind::Base), (false, vec![]));
}

#[test]
fn a_file_may_ask_for_it_too() {
    let fixture = Fixture::new();
    fixture.write("models/tiny/chat_template.jinja", "{{ messages }}");
    for (value, chat) in [("\"auto\"", true), ("false", false), ("true", true)] {
        let config = fixture.good(&format!("{MODEL}chat = {value}\n{DATASET}"));
        assert_eq!(config.models[0].chat, chat, "{value}");
    }
    assert!(!fixture.good(&format!("{MODEL}{DATASET}")).models[0].chat, "unless asked for");
    let shown = fixture.bad(&format!("{MODEL}chat = \"maybe\"\n{DATASET}"));
    assert!(shown.contains("`chat` takes \"auto\" or a boolean"), "{shown}");
}

#[test]
fn a_chat_without_a_template_is_refused_before_anything_starts() {
    let fixture = Fixture::new();
    fixture.write("models/tiny/tokenizer_config.json", r#"{"chat_template": null}"#);
    let shown = fixture.bad(&format!("{MODEL}chat = true\n{DATASET}"));
    assert!(shown.contains("model `m` has no chat template") && shown.contains("--hf-type base"), "{shown}");
    assert!(shown.contains("1 error"), "{shown}");
    assert!(!fixture.good(&format!("{MODEL}chat = false\n{DATASET}")).models[0].chat);
}
