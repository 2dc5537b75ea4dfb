//! The mean of per-sample scores, with lm-eval's closed form of its standard error.

use crate::evaluator::metric_contribution::{Bounds, SampleValue, Scale};
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Z_95};
use compass_metrics::statistics::mean_stderr;

/// Sum in order of the samples, divided by their number.
pub(super) fn metric(name: &str, column: &Column, scale: Scale, bounds: Bounds) -> Option<Metric> {
    let scores = scores(column);
    let n = scores.len() as f64;
    let value = scale.divide(scores.iter().sum(), n);
    let stderr = mean_stderr(&scores).map(|stderr| scale.factor() * stderr);
    (!scores.is_empty()).then(|| Metric::estimate(name, value, stderr, bounds))
}

/// The scores of a line in order of the samples.
pub(super) fn scores(column: &Column) -> Vec<f64> {
    column.read(|item| match item {
        SampleValue::Score(score) => Some(*score),
        _ => None,
    })
}

impl Metric {
    /// A number with a standard error in the same unit, and the normal interval that follows from it, as far as it is within
    /// the metric's bounds.
    pub(in crate::evaluator) fn estimate(name: &str, value: f64, stderr: Option<f64>, bounds: Bounds) -> Self {
        let stderr = stderr.filter(|stderr| stderr.is_finite());
        let ci95 = stderr.map(|stderr| bounds.within((value - Z_95 * stderr, value + Z_95 * stderr)));
        Self { name: name.into(), value, stderr, ci95 }
    }

    /// A number without a standard error.
    pub(in crate::evaluator) fn plain(name: &str, value: f64) -> Self {
        Self { name: name.into(), value, stderr: None, ci95: None }
    }
}
