//! BBQ's bias scores, from counts (Parrish et al. 2022, page 6).

use crate::evaluator::Metric;
use crate::evaluator::metric_contribution::SampleValue;
use crate::evaluator::series::Column;
use compass_metrics::option::BbqStats;

/// The score of ambiguous or of disambiguated contexts, in -1..=1. lm-eval gives no standard error.
pub(super) fn metric(name: &str, column: &Column, ambiguous: bool) -> Option<Metric> {
    let samples: Vec<&[u64; 3]> = column.read(|item| match item {
        SampleValue::Counts(counts) => counts.as_slice().try_into().ok(),
        _ => None,
    });
    let mut stats = BbqStats::default();
    for counts in &samples {
        let [correct, biased, known] = counts.map(|count| count > 0);
        stats.observe(!ambiguous, correct, biased, known);
    }
    let value = if ambiguous { stats.amb_bias_score() } else { stats.disamb_bias_score() };
    (!samples.is_empty()).then(|| Metric::plain(name, value))
}
