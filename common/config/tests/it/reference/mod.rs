//! The reference of the configuration follows from the keys that its reader knows: the tables of the book, and the schema for
//! editors, which accepts every example and preset.
//!
//! `COMPASS_WRITE=1 cargo test -p compass-config --test it reference` writes both.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod validate;

use compass_config::{reference_page, reference_parts, schema};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use validate::faults;

const REWRITE: &str = "COMPASS_WRITE=1 cargo test -p compass-config --test it reference";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files of a folder with this ending, by name.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == ending)).collect();
    files.sort();
    files
}

/// Asserts that the file holds `wanted`, or writes it where that is asked for.
fn same_or_written(path: &Path, wanted: &str) {
    if fs::read_to_string(path).is_ok_and(|text| text == wanted) {
        return;
    }
    assert!(std::env::var_os("COMPASS_WRITE").is_some(), "{} is out of date: run `{REWRITE}`", path.display());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, wanted).unwrap();
}

#[test]
fn tables_of_the_book_follow_from_the_keys() {
    for path in files("docs/src", "md") {
        let page = fs::read_to_string(&path).unwrap();
        let wanted = reference_page(&page).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        same_or_written(&path, &wanted);
    }
}

#[test]
fn every_table_stands_once_in_the_book() {
    let book: String = files("docs/src", "md").iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for part in reference_parts() {
        let mark = format!("<!-- {part} -->\n");
        assert_eq!(book.matches(&mark).count(), 1, "pages of docs/src with `{}`", mark.trim_end());
    }
}

#[test]
fn the_schema_follows_from_the_keys() {
    let wanted = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    same_or_written(&repository().join("docs/schema/eval.schema.json"), &wanted);
}

/// A TOML text as JSON.
fn json(text: &str) -> Json {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn the_schema_accepts_every_example() {
    let schema = schema();
    let examples = files("examples", "toml");
    assert!(!examples.is_empty());
    for path in examples {
        let faults = faults(&schema, &json(&fs::read_to_string(&path).unwrap()));
        assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
    }
}

#[test]
fn the_schema_accepts_every_configuration_of_the_book() {
    let schema = schema();
    for path in files("docs/src", "md") {
        let page = fs::read_to_string(&path).unwrap();
        for block in page.split("\n```toml\n").skip(1) {
            let text = block.split("\n```").next().unwrap();
            let faults = faults(&schema, &json(text));
            assert!(faults.is_empty(), "{}: {faults:#?}\n{text}", path.display());
        }
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema();
    for (text, at) in [
        ("modles = []", "modles"),
        ("[master]\nlissten = \"127.0.0.1:0\"", "master.lissten"),
        ("[master]\ncertificate_ttl = \"soon\"", "master.certificate_ttl"),
        ("[[model]]\nmax_seq_len = \"512\"", "model.0.max_seq_len"),
        ("[[model]]\nmax_seq_len = 0", "model.0.max_seq_len"),
        ("[[model]]\ndtype = \"float64\"", "model.0.dtype"),
        ("[[model]]\npeft_path = 3", "model.0.peft_path"),
        ("[[dataset]]\ninfer_cfg = { retriever = \"zreo\" }", "dataset.0.infer_cfg.retriever"),
        ("[[dataset]]\ninfer_cfg = { retriever = { type = \"fix_k\", idds = [0] } }", "dataset.0.infer_cfg.retriever"),
        ("[infer.runner]\nretry = -1", "infer.runner"),
        ("[[pool]]\noffline = \"wait\"", "pool.0.offline"),
    ] {
        let faults = faults(&schema, &json(text));
        assert!(faults.iter().any(|fault| fault.starts_with(&format!("{at}:"))), "{text}: {faults:?}");
    }
}
