//! The pages of the book about answers, run: each line of their tables with the peer's postprocessor and with ours.

use super::answers::kind;
use compass_postprocess::{Postprocessor, answer};
use serde_json::{Map, Value};
use std::path::Path;

/// The rows below a table's head, as their cells; `↵` is the end of a line.
fn rows(page: &str, head: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let table = text.split_once(head).unwrap_or_else(|| panic!("{page} has no table {head}")).1;
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let bare = |cell: &str| cell.trim().trim_matches('`').replace('↵', "\n");
    lines.map(|line| line.trim_matches('|').split(" | ").map(bare).collect()).collect()
}

/// The postprocessor that a cell names, with its parameter behind it.
fn peer(cell: &str) -> Postprocessor {
    let (name, value) = cell.split_once(' ').unwrap_or((cell, ""));
    let key = match name {
        "mathbench" => "name",
        "mgsm" => "lang",
        _ => "options",
    };
    let parameters = Some((key.to_owned(), Value::from(value))).filter(|_| !value.is_empty());
    Postprocessor::named(name, &parameters.into_iter().collect::<Map<_, _>>()).unwrap()
}

#[test]
fn examples_of_the_page_are_read_as_it_says() {
    let rows = rows("answers.md", "| answer | kind | read | tier |");
    assert!(rows.len() >= 20, "{rows:?}");
    for row in rows {
        let [text, word, read, tier] = row.as_slice() else { panic!("{row:?}") };
        let found = answer(text, &kind(word));
        let shown = found.map_or((String::new(), String::new()), |found| (found.text, format!("{:?}", found.how)));
        assert_eq!(shown, (read.clone(), tier.clone()), "{text}");
    }
}

#[test]
fn faults_of_the_page_are_the_peers_and_not_ours() {
    let rows = rows("inherited-faults.md", "| peer | answer | peer reads | kind | `answer` reads |");
    assert!(rows.len() >= 15, "{rows:?}");
    for row in rows {
        let [name, text, inherited, word, ours] = row.as_slice() else { panic!("{row:?}") };
        assert_eq!(peer(name).apply(text).unwrap(), *inherited, "{name}: {text}");
        assert_eq!(answer(text, &kind(word)).map(|found| found.text).unwrap_or_default(), *ours, "{text}");
        assert_ne!(inherited, ours, "{text} is no fault");
    }
}
