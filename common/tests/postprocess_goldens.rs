//! Every postprocessor against OpenCompass's own function, on the texts of `goldens/postprocess/texts.py`.
//!
//! `goldens/postprocess/generate.py` writes the goldens. An output `true` is the text itself, `null` is Python's `None`.

use compass_common::postprocess::Postprocessor;
use serde_json::{Map, Value};
use std::path::Path;

fn golden(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/postprocess").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is a list"))
}

/// The outputs that differ, in words, and how many were compared.
fn compare(file: &str) -> (Vec<String>, usize) {
    let (golden, common) = (golden(&format!("{file}.json")), golden("plain.json"));
    let (mut differ, mut compared) = (Vec::new(), 0);
    for case in list(&golden, "cases") {
        let name = case["name"].as_str().unwrap();
        let none = Map::new();
        let kind = Postprocessor::named(name, case["parameters"].as_object().unwrap_or(&none)).unwrap();
        let texts = list(case, "texts").iter().flat_map(|set| {
            let set = set.as_str().unwrap();
            list(if set == "common" { &common["texts"] } else { &golden["texts"] }, set)
        });
        let outputs = list(case, "outputs");
        assert!(outputs.len() >= 80, "{name}");
        for (text, output) in texts.zip(outputs) {
            let text = text.as_str().unwrap();
            let expected = if output == &Value::Bool(true) { Some(text) } else { output.as_str() };
            let found = kind.extract(text);
            compared += 1;
            if found.as_deref() != expected {
                differ.push(format!(
                    "{name} {}: {text:?}\n  expected {expected:?}\n  found    {found:?}",
                    case["parameters"]
                ));
            }
        }
    }
    (differ, compared)
}

fn all_equal(file: &str) {
    let (differ, compared) = compare(file);
    assert!(differ.is_empty(), "{} of {compared} differ:\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn letters_and_numbers() {
    all_equal("plain");
}

#[test]
fn options_of_multiple_choice() {
    all_equal("options");
}

#[test]
fn tags_and_reasoning() {
    all_equal("tags");
}

#[test]
fn mathematics() {
    all_equal("mathematics");
}

#[test]
fn programs() {
    all_equal("programs");
}

#[test]
fn lines_and_sentences() {
    all_equal("lines");
}

#[test]
fn answers_to_open_questions() {
    all_equal("answers");
}

#[test]
fn chinese_words() {
    all_equal("chinese");
}
