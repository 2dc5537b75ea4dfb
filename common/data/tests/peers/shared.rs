//! Finds the shared data and reads what the tests need of it.

use compass_common::plan::Sample;
use compass_common::prompt::{RenderedDataset, Shot};
use compass_data::Row;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file of the shared folder; `None`, said loudly, where there is none.
pub(super) fn path(file: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("COMPASS_SHARED").map_or(beside, PathBuf::from);
    let path = root.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {file} is not in the shared folder (set COMPASS_SHARED)");
    None
}

/// Rows of a `.jsonl` or `.json` file.
pub(super) fn rows(file: &str) -> Option<Vec<Row>> {
    Some(compass_data::read(&path(file)?).unwrap())
}

/// Rows of a headerless MMLU table with OpenCompass's column names.
pub(super) fn mmlu(file: &str) -> Option<Vec<Row>> {
    let text = std::fs::read_to_string(path(file)?).unwrap();
    let names = ["input", "A", "B", "C", "D", "target"];
    let row = |fields: Vec<String>| {
        names.iter().map(|name| (*name).to_owned()).zip(fields.into_iter().map(Value::from)).collect()
    };
    Some(csv(&text).into_iter().map(row).collect())
}

/// RFC 4180: quoted fields may hold commas, newlines and doubled quotes.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(row.is_empty() && field.is_empty(), "the file ends with a newline");
    rows
}

/// The predictions of OpenCompass in sample order.
pub(super) fn predictions(file: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(path(file)?).unwrap();
    let by_index: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    Some((0..by_index.len()).map(|index| by_index[&index.to_string()].clone()).collect())
}

/// A sample's shots.
pub(super) fn shots<'a>(rendered: &'a RenderedDataset, sample: &Sample) -> Vec<&'a Shot> {
    sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect()
}
