//! The area under the ROC curve, with the standard error of Hanley and McNeil (Radiology 143, 1982).

use crate::evaluator::Metric;
use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use compass_metrics::statistics::auc_roc;

/// In percent; `None` when a class is missing, where the area is undefined.
pub(super) fn metric(name: &str, column: &Column) -> Option<Metric> {
    let ranked = column.read(|item| match item {
        SampleValue::Ranked(positive, score) => Some((*positive, *score)),
        _ => None,
    });
    let of = |class: bool| ranked.iter().filter(|(positive, _)| *positive == class).map(|(_, score)| *score).collect();
    let (positive, negative): (Vec<f64>, Vec<f64>) = (of(true), of(false));
    let area = auc_roc(&positive, &negative)?;
    let (m, n) = (positive.len() as f64, negative.len() as f64);
    let (q1, q2) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let square = area * area;
    let variance = (area * (1.0 - area) + (m - 1.0) * (q1 - square) + (n - 1.0) * (q2 - square)) / (m * n);
    Some(Metric::estimate(name, area * 100.0, Some(100.0 * variance.max(0.0).sqrt()), Bounds::Percent))
}
