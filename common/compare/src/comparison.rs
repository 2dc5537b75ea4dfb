//! Options of a comparison of two runs, its findings, and the reasons why there may be none.

use super::clusters::ClusterBy;
use super::pairing::Pairing;
use super::row::Row;
use super::run::Difference;
use compass_settings::Correction;
use compass_stats::{benjamini_hochberg, holm};

/// Subject and method of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Models of the first run with their counterparts in the second, where the names do not say it.
    pub models: Vec<(String, String)>,
    /// Metrics by name, `*` for all.
    pub metrics: Vec<String>,
    /// Set if the first metric of each data set is asked for beside them.
    pub first_metric: bool,
    /// The share of the first run's number by which the second may be worse: differences are taken from what is left of it.
    pub relative: f64,
    pub cluster: ClusterBy,
    /// By how much the second run may be worse, in the unit of the metric.
    pub margin: Option<f64>,
    pub correction: Correction,
    pub confidence: f64,
    /// Set if runs of which less than [`LEAST_SHARE`] pairs are compared.
    pub allow_partial: bool,
    /// Flips that are kept of each data set.
    pub flips: usize,
    /// Set if two runs that have nothing to compare are an answer, and no error.
    pub may_be_empty: bool,
}

/// Returns p-values after a correction for several tests.
pub(crate) fn corrected(correction: Correction, p: &[f64]) -> Vec<f64> {
    match correction {
        Correction::Holm => holm(p),
        Correction::BenjaminiHochberg => benjamini_hochberg(p),
        Correction::None => p.to_vec(),
    }
}

/// The least share of the larger run that must pair.
pub const LEAST_SHARE: f64 = 0.95;

/// Two runs, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub a: String,
    pub b: String,
    pub plans: (String, String),
    /// Differences other than the model's answers that may explain a difference: shown first.
    pub differences: Vec<Difference>,
    /// Data sets in the order of the first run, then groups.
    pub rows: Vec<Row>,
    /// Requests that are not compared, with the reasons.
    pub left_out: Vec<String>,
    /// Pairing of each pair of units: what pairs, and what does not.
    pub paired: Vec<PairedUnit>,
    pub correction: Correction,
    pub confidence: f64,
    pub margin: Option<f64>,
}

/// Pairing of the samples of a data set.
#[derive(Clone, Debug)]
pub struct PairedUnit {
    pub model_a: String,
    pub model_b: String,
    pub dataset: String,
    pub pairing: Pairing,
    /// Samples that are right in one run only, by the data set's first metric: indices in both, and whether the second run is
    /// the right one. Losses first.
    pub flips: Vec<(u32, u32, bool)>,
    pub all_flips: usize,
    pub clusters: Option<usize>,
}

/// Reason why two runs are not compared. Its text is a lowercase fragment; the remedy is apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompareError {
    pub message: String,
    pub help: String,
}

impl CompareError {
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}
