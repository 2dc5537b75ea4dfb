//! Selection of the rows of a split: `test_range` and `train_range` as OpenCompass understands them.

use serde::{Deserialize, Serialize};

/// A range as configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeSpec {
    /// Every row.
    #[default]
    All,
    /// This many rows, drawn with CPython's `random.Random(n).shuffle`; 0 and anything from the length up means all.
    Count(i64),
    /// This share of the rows, drawn likewise.
    Fraction(f64),
    /// One or more Python slices applied in turn: `[:100]`, `[:50][0:8]`.
    Slices(String),
}
