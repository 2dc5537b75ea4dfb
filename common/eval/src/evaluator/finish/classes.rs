//! Metrics of gold and predicted classes: Matthews correlation and F1, with a bootstrap for the standard error.

use super::Effort;
use crate::evaluator::Metric;
use crate::evaluator::metric_contribution::{Bounds, SampleValue, Scale};
use crate::evaluator::series::Column;
use compass_metrics::statistics::{ClassTotals, Classes, bootstrap_stderr};
use compass_plan::evaluation::F1Average;

/// Resamples. lm-eval draws 100,000 with the same generator; a hundredth of them gives two digits of the error.
const RESAMPLES: usize = 1000;

/// The class that a binary F1 is of, scikit-learn's `pos_label`.
const POSITIVE: &str = "1";

/// scikit-learn's `matthews_corrcoef`, scaled.
pub(super) fn matthews(name: &str, column: &Column, scale: Scale, effort: Effort) -> Option<Metric> {
    metric(name, column, Bounds::Correlation(scale), effort, |_, totals| totals.matthews_correlation())
}

/// scikit-learn's `f1_score`, in percent.
pub(super) fn f1(name: &str, column: &Column, average: F1Average, effort: Effort) -> Option<Metric> {
    metric(name, column, Bounds::Percent, effort, |classes, totals| match average {
        F1Average::Macro => totals.macro_f1(),
        F1Average::Micro => totals.micro_f1(),
        F1Average::Weighted => totals.weighted_f1(),
        F1Average::Binary => classes.number(POSITIVE).map_or(0.0, |class| totals.f1(class)),
    })
}

fn metric(
    name: &str,
    column: &Column,
    bounds: Bounds,
    effort: Effort,
    score: impl Fn(&Classes, &ClassTotals) -> f64,
) -> Option<Metric> {
    let pairs = column.read(|item| match item {
        SampleValue::Classes(gold, predicted) => Some((gold.as_str(), predicted.as_str())),
        _ => None,
    });
    let factor = if bounds == Bounds::Correlation(Scale::One) { 1.0 } else { 100.0 };
    let classes = Classes::new(&pairs);
    let value = score(&classes, &classes.totals());
    let stderr = match effort {
        Effort::ClosedForm => None,
        Effort::Full => {
            bootstrap_stderr(pairs.len(), RESAMPLES, |drawn| score(&classes, &classes.totals_of(drawn.iter().copied())))
        }
    };
    (!pairs.is_empty()).then(|| Metric::estimate(name, value * factor, stderr.map(|error| error * factor), bounds))
}
