//! Finds the shared data and reads what the tests need of it.

use compass_data::{Row, read_split};
use compass_plan::Sample;
use compass_plan::prompt::{RenderedDataset, Shot};
use compass_settings::{ColumnConfig, Expression, ReadOptions, SourceConfig, SourceFile};
use compass_types::range::RangeSpec;
use serde_json::Value;

pub(super) use compass_needs::shared as path;

/// Rows of a `.jsonl` or `.json` file.
pub(super) fn rows(file: &str) -> Option<Vec<Row>> {
    Some(compass_data::read(&path(file)?).unwrap())
}

/// Rows of a headerless MMLU table with OpenCompass's column names.
pub(super) fn mmlu(file: &str) -> Option<Vec<Row>> {
    let names = ["input", "A", "B", "C", "D", "target"].map(str::to_owned).to_vec();
    let options = ReadOptions { header: false, names, ..ReadOptions::default() };
    let rows = compass_data::open(&path(file)?, &options, &[]).unwrap();
    Some(rows.map(|row| row.unwrap().row).collect())
}

/// Rows of a file with computed columns.
pub(super) fn with_columns(file: &str, columns: Vec<ColumnConfig>) -> Option<Vec<Row>> {
    let files = vec![SourceFile { path: path(file)?, name: String::new() }];
    let source = SourceConfig { files, columns, ..SourceConfig::default() };
    Some(read_split(&source, "test_range", &RangeSpec::Slices("[:40]".into())).unwrap().rows().collect())
}

pub(super) fn column(name: &str, expression: Expression) -> ColumnConfig {
    ColumnConfig { name: name.into(), expression, cast: None, default: None, origin: Default::default() }
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
