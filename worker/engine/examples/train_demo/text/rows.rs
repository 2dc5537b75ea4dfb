//! The data files of the demo.

use super::random::Random;
use super::{larger, stories, sums};
use serde_json::Value;

/// A JSON lines file by name.
pub(crate) struct DataFile {
    pub(crate) name: &'static str,
    pub(crate) rows: Vec<Value>,
}

impl DataFile {
    /// Returns the file's content: one row per line.
    pub(crate) fn text(&self) -> String {
        self.rows.iter().map(|row| format!("{row}\n")).collect()
    }
}

/// Rows of a test set; at least two hundred are needed for a narrow interval.
const TEST: usize = 240;
/// Rows of a file with shots.
const TRAIN: usize = 60;

/// Returns every data file.
pub(crate) fn data_files(seed: u64) -> Vec<DataFile> {
    let file = |name, salt: u64, make: &dyn Fn(&mut Random) -> Vec<Value>| DataFile {
        name,
        rows: make(&mut Random::new(seed ^ (salt << 32))),
    };
    vec![
        file("sums_test.jsonl", 1, &|random| sums::rows(true, TEST, random)),
        file("sums_train.jsonl", 2, &|random| sums::rows(false, TRAIN, random)),
        file("stories_test.jsonl", 3, &|random| stories::rows(TEST, random)),
        file("larger_test.jsonl", 4, &|random| larger::rows(true, TEST, random)),
        file("larger_train.jsonl", 5, &|random| larger::rows(false, TRAIN, random)),
    ]
}
