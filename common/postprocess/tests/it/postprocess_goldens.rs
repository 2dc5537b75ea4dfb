//! Every postprocessor against OpenCompass's own function, on the texts of `goldens/texts.py`.
//!
//! `goldens/generate.py` writes the goldens. An output `true` is the text itself, `null` is Python's `None`.

use compass_postprocess::{Filter, Postprocessor, apply_filters};
use serde_json::{Map, Value};
use std::path::Path;

/// `POSTPROCESS_GOLDENS` names another folder than the committed one, for fresh draws.
fn golden(name: &str) -> Value {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let path = std::env::var_os("POSTPROCESS_GOLDENS").map_or_else(ours, Into::into).join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is a list"))
}

/// Returns the outputs that differ, in words, and how many were compared.
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
            let found = kind.extract(text).unwrap();
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

/// `POSTPROCESS_CASES` names a file of fresh draws, a line each: `{ name, parameters, text, out: { ok } | { error } }`.
#[test]
fn fresh_draws() {
    let Some(path) = std::env::var_os("POSTPROCESS_CASES") else {
        eprintln!("skipped: POSTPROCESS_CASES names no file of fresh draws");
        return;
    };
    let (mut differ, mut compared) = (Vec::new(), 0);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (name, text) = (case["name"].as_str().unwrap(), case["text"].as_str().unwrap());
        let found = Postprocessor::named(name, case["parameters"].as_object().unwrap()).unwrap().extract(text).unwrap();
        compared += 1;
        // Where the peer's function raises there is nothing to equal.
        if case["out"].get("error").is_none() && found.as_deref() != case["out"]["ok"].as_str() {
            differ.push(format!("{line}\n  found {found:?}"));
        }
    }
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

#[test]
fn lm_eval_filters() {
    let (golden, plain) = (golden("filters.json"), golden("plain.json"));
    let short = |text: &&Value| text.as_str().unwrap().chars().count() < 1000;
    let common = list(&plain["texts"], "common").iter().filter(short);
    let alone: Vec<Vec<&str>> = common.chain(list(&golden, "own")).map(|text| vec![text.as_str().unwrap()]).collect();
    for case in list(&golden, "cases") {
        let step = |step: &Value| {
            let mut parameters = step.as_object().unwrap().clone();
            let function = parameters.shift_remove("function").unwrap();
            Filter::named(function.as_str().unwrap(), &parameters).unwrap()
        };
        let steps: Vec<Filter> = list(case, "steps").iter().map(step).collect();
        let choices: Vec<String> = texts(&case["choices"]).into_iter().map(str::to_owned).collect();
        let groups = case["responses"].as_array().map_or(alone.clone(), |groups| groups.iter().map(texts).collect());
        assert_eq!(groups.len(), list(case, "outputs").len());
        let mut differ = Vec::new();
        for (responses, output) in groups.iter().zip(list(case, "outputs")) {
            let found = apply_filters(&steps, responses, &choices);
            let context = format!("{} of {responses:?}: {found:?}", case["steps"]);
            let equal = match output.get("error") {
                Some(_) => found.is_err(),
                None => found.as_ref() == Ok(output),
            };
            if !equal {
                differ.push(format!("{context} instead of {output}"));
            }
        }
        assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}
