//! Rows in several orders of their options: those that OpenCompass's classes give (`python/circular.py` wrote them), in the
//! order of their columns, and what is wrong with a row.

use super::fixture::{Fixture, json, python};
use compass_config::{Overrides, load};
use compass_data::read_split;
use compass_settings::{LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader};
use compass_types::range::RangeSpec;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Has one file for every split of every class.
#[derive(Debug)]
struct OneFile(PathBuf);

impl RowLoader for OneFile {
    fn load(&self, _: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let one = |call: &LoaderCall| {
            let splits = call.splits.iter().map(|split| (split.clone(), self.0.clone())).collect();
            Ok(LoadedRows { splits, said: call.class.clone() })
        };
        calls.iter().map(one).collect()
    }
}

/// The rows of a class over the file of the class that it names, or what is wrong with them.
fn made(case: &Value) -> Result<Vec<String>, String> {
    let rows = case["rows"].as_array().unwrap().iter().map(|row| format!("{row}\n"));
    let fixture = Fixture::with(&[("rows.jsonl", &rows.collect::<String>())]);
    let parameters = case["parameters"].as_object().unwrap().iter();
    let parameters: String = parameters.map(|(name, value)| format!("{name}={value}, ")).collect();
    let (class, split) = (case["class"].as_str().unwrap(), case["split"].as_str().unwrap());
    fixture.write(
        "eval.py",
        format!(
            "from opencompass.datasets.circular import {class}\nmodels = [dict(type='echo', abbr='m', path='m')]\n\
             datasets = [dict(abbr='d', type={class}, path='rows', {parameters}\n\
             reader_cfg=dict(input_columns=['question'], output_column='question', test_split='{split}'),\n\
             infer_cfg=dict(prompt_template='{{question}}', inferencer='gen'), eval_cfg=dict(evaluator='em'))]\n"
        ),
    );
    let mut flags = Overrides { home: Some(fixture.path("home")), ..Overrides::default() };
    flags.python.loader = Some(Loader(Arc::new(OneFile(fixture.path("rows.jsonl")))));
    let loaded = load(Some(&fixture.path("eval.py")), &flags).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(!loaded.notes[0].message.contains("Circular"), "the class that it names is asked: {:?}", loaded.notes);
    let rows = read_split(&loaded.config.datasets[0].test, "test_range", &RangeSpec::All);
    let rows = rows.map_err(|faults| fixture.strip(&faults[0].to_string()))?;
    Ok(rows.rows().map(|row| Value::Object(row).to_string()).collect())
}

#[test]
fn every_class_gives_the_rows_that_it_gives_in_opencompass() {
    for case in json(&python("circular.json")).as_array().unwrap() {
        let ours = made(case);
        match case["made"].as_array() {
            Some(rows) => {
                let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
                assert_eq!(ours.as_ref(), Ok(&rows), "{}", case["class"]);
            }
            // Whose `str.index` finds no such answer.
            None => assert_eq!(
                ours.unwrap_err(),
                "rows.jsonl:1:1: `answer` is `NULL`, which is not among the `answers` of `circular`"
            ),
        }
    }
}

const ROWS: &str =
    "{\"q\": \"x\", \"A\": 1, \"B\": 2, \"a\": \"B\"}\n{\"q\": \"y\", \"A\": 3, \"B\": 4, \"a\": \"A\"}\n";

#[test]
fn orders_come_after_a_slice_and_before_a_range() {
    let fixture =
        Fixture::with(&[("a.jsonl", &format!("{{\"q\": \"no\", \"A\": 0, \"B\": 0, \"a\": \"A\"}}\n{ROWS}"))]);
    let keys = "path = \"a.jsonl\"\nslice = \"[1:]\"\ncircular = { options = [\"A\", \"B\"], answer = \"a\" }";
    let mut split = fixture.split(keys, &RangeSpec::Slices("[1:3]".into())).unwrap();
    split.number("d");
    let rows: Vec<String> = split.rows().map(|row| Value::Object(row).to_string()).collect();
    assert_eq!(
        rows,
        [
            r#"{"q":"x","A":2,"B":1,"a":"A","qid":0,"circular_pattern":["B","A"],"subdivision":"d","idx":1}"#,
            r#"{"q":"y","A":3,"B":4,"a":"A","qid":1,"circular_pattern":["A","B"],"subdivision":"d","idx":2}"#,
        ]
    );
    assert_eq!((split.in_files, split.kept), (3, 4));
}

#[test]
fn a_row_without_an_option_is_a_fault() {
    let fixture = Fixture::with(&[("a.jsonl", ROWS)]);
    let keys = |options: &str, more: &str| {
        format!("path = \"a.jsonl\"\ncircular = {{ options = [{options}], answer = \"a\"{more} }}")
    };
    let fault = fixture.faults(&keys("\"A\", \"C\"", "")).concat();
    assert!(fault.starts_with("a.jsonl:1:1: there is no `C`, which `circular` names"), "{fault}");
    let fault = fixture.faults(&keys("\"A\", \"B\"", ", answers = [\"x\", \"A\"]")).concat();
    assert!(fault.contains("`a` is `B`, which is not among the `answers` of `circular`"), "{fault}");
}
