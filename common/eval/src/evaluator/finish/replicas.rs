//! Several answers to each question: the chance that some, or most, of k answers are right.
//!
//! Chen et al. 2021 (pass@k, unbiased) and Liu et al. 2024 (G-Pass@k), with OpenCompass's names and its `BaseEvaluator`'s
//! formulas.

use super::numpy;
use crate::evaluator::Metric;
use crate::evaluator::metric_contribution::{Bounds, SampleValue};
use crate::evaluator::series::Column;
use compass_metrics::statistics::{g_pass_at_k, mean_stderr, mg_pass_at_k, pass_at_k};

/// Thresholds of G-Pass@k, as OpenCompass prints them.
const THRESHOLDS: [(&str, f64); 5] = [("0.0", 0.0), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75), ("1.0", 1.0)];

/// Returns pass@k for each `k` that no question has fewer answers than. Where any k is beyond 1, it also returns G-Pass@k at
/// every threshold, and mG-Pass@k. All are in percent, with the standard error of the mean over questions.
pub(super) fn metrics(column: &Column, k: &[u32]) -> Vec<Metric> {
    let questions = column.read(|item| match item {
        SampleValue::Counts(counts) => counts.as_chunks::<2>().0.first().map(|&[right, of]| (right, of)),
        _ => None,
    });
    let several = k.iter().any(|&k| k > 1);
    let mut metrics = Vec::new();
    for k in k.iter().map(|&k| u64::from(k)).filter(|&k| questions.iter().all(|&(_, of)| k <= of)) {
        let mut add = |name: String, chance: &dyn Fn(u64, u64) -> f64| {
            let chances: Vec<f64> = questions.iter().map(|&(right, of)| chance(of, right)).collect();
            let stderr = mean_stderr(&chances).map(|stderr| 100.0 * stderr);
            metrics.push(Metric::estimate(&name, 100.0 * numpy::mean(&chances), stderr, Bounds::Percent));
        };
        add(format!("pass@{k}"), &|n, c| pass_at_k(n, c, k));
        if several {
            for (name, threshold) in THRESHOLDS {
                add(format!("G-Pass@{k}_{name}"), &|n, c| g_pass_at_k(n, c, k, threshold));
            }
            add(format!("mG-Pass@{k}"), &|n, c| mg_pass_at_k(n, c, k));
        }
    }
    metrics
}
