//! Random programs and small ones about single behaviours, with CPython's results: `vectors/make.py` and
//! `vectors/behaviours.py` write both. `COMPASS_PYTHON_VECTORS` names another file of
//! programs in that form.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_pyfmt::{float_text, python_repr_text};
use compass_python::{Host, Imported, Limits, Node, Plain, evaluate};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Nothing;

impl Host for Nothing {
    fn base(&self, _: &Path, _: u32, module: &str) -> Imported {
        Imported::Missing { reason: format!("No module named '{module}'"), help: None }
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        Err(format!("{} is not there", path.display()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn repr(node: &Node) -> String {
    let all = |items: &[Node]| items.iter().map(repr).collect::<Vec<_>>().join(", ");
    match &node.value {
        Plain::None => "None".to_owned(),
        Plain::Bool(true) => "True".to_owned(),
        Plain::Bool(false) => "False".to_owned(),
        Plain::Int(value) => value.to_string(),
        Plain::Float(value) => float_text(*value),
        Plain::Text(text) => python_repr_text(text),
        Plain::List(items) => format!("[{}]", all(items)),
        Plain::Tuple(items) if items.len() == 1 => format!("({},)", all(items)),
        Plain::Tuple(items) => format!("({})", all(items)),
        Plain::Dict(entries) => {
            let entry = |(key, value): &(Node, Node)| format!("{}: {}", repr(key), repr(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Plain::Symbol(name) => name.clone(),
        Plain::Other(kind) => format!("<{kind}>"),
    }
}

/// Describes the difference; `None` without one.
fn difference(program: &Value, has_words_of_parser: bool) -> Option<String> {
    let source = program["source"].as_str().unwrap();
    let evaluation = evaluate(Path::new("eval.py"), source.to_owned(), &Nothing, Limits::default());
    match (evaluation.result, program["class"].as_str()) {
        (Ok(names), None) => {
            let wanted = program["names"].as_object().unwrap();
            wanted.iter().find_map(|(name, wanted)| {
                let found = names.iter().find(|(known, _)| known == name).map(|(_, node)| repr(node));
                (found.as_deref() != wanted.as_str()).then(|| format!("{name} = {found:?}, CPython {wanted}"))
            })
        }
        (Ok(_), Some(class)) => Some(format!("no error, CPython {class}: {}", program["text"])),
        (Err(error), None) => Some(format!("{}, CPython none", error.line())),
        (Err(error), Some(class)) => {
            let place = error.place.map(|place| source[..place.range().start].matches('\n').count() as u64 + 1);
            // A parser words what is wrong in its own way.
            let is_parsed = class == "SyntaxError" && !has_words_of_parser;
            let wanted = (class, program["text"].as_str().unwrap(), program["line"].as_u64());
            let same_text = is_parsed || error.text == wanted.1;
            (error.class != wanted.0 || !same_text || place != wanted.2)
                .then(|| format!("{} at line {place:?}, CPython {wanted:?}", error.line()))
        }
    }
}

#[test]
fn programs_come_to_what_cpython_makes_of_them() {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/programs.json");
    let path = std::env::var_os("COMPASS_PYTHON_VECTORS").map_or(usual, PathBuf::from);
    let programs: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let mut differences = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        if let Some(difference) = difference(program, false) {
            differences.push(format!("program {at}: {difference}"));
        }
    }
    eprintln!("{} programs, {} differ", programs.len(), differences.len());
    assert!(programs.len() >= 300, "{}", programs.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn behaviours_are_cpythons() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/behaviours.json");
    let programs: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let differences: Vec<String> = programs
        .iter()
        .filter_map(|program| Some(format!("{}{}\n", program["source"].as_str()?, difference(program, true)?)))
        .collect();
    assert!(programs.len() >= 100, "{}", programs.len());
    assert!(differences.is_empty(), "{} of {} differ\n{}", differences.len(), programs.len(), differences.join("\n"));
}
