//! An entry of a leaderboard, and its numbers.

use crate::values::Direction;
use std::collections::BTreeMap;

/// A model of a run.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As a person tells it from the others.
    pub label: String,
    pub run: String,
    pub model: String,
    pub step: Option<u64>,
    /// By data set: its first metric, and bits per byte of the gold answer where there is one.
    pub cells: BTreeMap<String, Vec<Cell>>,
    /// The mean of the percentages of the data sets that every entry has.
    pub average: Option<f64>,
    /// Rank among entries that are tied: 1 for what is tied with the best; 2 for what is tied with the best of the rest; ...
    pub tier: Option<u32>,
}

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub metric: String,
    pub value: f64,
    pub stderr: Option<f64>,
    pub interval: Option<(f64, f64)>,
    pub samples: u64,
    pub is_percent: bool,
    pub direction: Direction,
}
