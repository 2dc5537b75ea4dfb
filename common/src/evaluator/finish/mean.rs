//! The mean of per-sample scores, with lm-eval's closed form of its standard error.

use crate::evaluator::line::Column;
use crate::evaluator::share::{Item, Scale};
use crate::evaluator::{Metric, Z_95};

/// Sum in order of the samples, divided by their number.
pub(super) fn metric(name: &str, column: &Column, scale: Scale) -> Option<Metric> {
    let scores = scores(column);
    let n = scores.len() as f64;
    let value = scale.divide(scores.iter().sum(), n);
    let stderr = stderr(&scores).map(|stderr| scale.factor() * stderr);
    (!scores.is_empty()).then(|| Metric::estimate(name, value, stderr))
}

/// The scores of a line in order of the samples.
pub(super) fn scores(column: &Column) -> Vec<f64> {
    column.read(|item| match item {
        Item::Score(score) => Some(*score),
        _ => None,
    })
}

/// lm-eval's `mean_stderr`: sample standard deviation (n - 1) over the root of n; `None` for fewer than two.
pub(super) fn stderr(scores: &[f64]) -> Option<f64> {
    Some(deviation(scores)? / (scores.len() as f64).sqrt())
}

/// lm-eval's `sample_stddev`; `None` for fewer than two.
pub(super) fn deviation(scores: &[f64]) -> Option<f64> {
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    (scores.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
}

impl Metric {
    /// A number with a standard error in the same unit, and the normal interval that follows from it.
    pub(in crate::evaluator) fn estimate(name: &str, value: f64, stderr: Option<f64>) -> Self {
        let stderr = stderr.filter(|stderr| stderr.is_finite());
        let ci95 = stderr.map(|stderr| (value - Z_95 * stderr, value + Z_95 * stderr));
        Self { name: name.into(), value, stderr, ci95 }
    }
}
