//! Metrics: pure functions of a prediction and its references, and statistics that merge.
//!
//! Each equals the peer's function that its comment names, bit for bit or to the last digits of a double; the goldens in
//! `tests/goldens/metric` were printed by the peers' own packages. Scores are fractions in 0..=1 unless a comment says
//! otherwise. Not here: which data set uses which metric, and standard errors of a table's columns.

pub mod instruction;
mod language;
pub mod math;
pub mod option;
pub mod overlap;
pub mod rouge;
pub mod statistics;
mod text;
pub mod translation;

pub use language::Language;
