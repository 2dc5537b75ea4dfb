//! OpenCompass's `CrowspairsEvaluator`: accuracy over all outputs and over those that name a choice.

use crate::evaluator::Metric;
use crate::evaluator::Proportion;
use crate::evaluator::metric_contribution::SampleValue;
use crate::evaluator::series::Column;
use compass_metrics::option::CrowsPairsStats;

/// accuracy, valid_accuracy and valid_frac in percent, rounded as the peer rounds them; a metric of nothing is left out.
pub(super) fn metrics(column: &Column) -> Vec<Metric> {
    let mut stats = CrowsPairsStats::default();
    for (predicted, gold) in column.read(|item| match item {
        SampleValue::Classes(gold, predicted) => Some((predicted, gold)),
        _ => None,
    }) {
        stats.observe(predicted, gold);
    }
    let contributions = [
        ("accuracy", stats.accuracy(), Proportion { hits: stats.matches, total: stats.samples }),
        ("valid_accuracy", stats.valid_accuracy(), Proportion { hits: stats.valid_matches, total: stats.valid }),
        ("valid_frac", stats.valid_fraction(), Proportion { hits: stats.valid, total: stats.samples }),
    ];
    let metric = |(name, value, contribution): (&str, Option<f64>, Proportion)| {
        Some(Metric { name: name.into(), value: value?, stderr: contribution.stderr(), ci95: contribution.wilson() })
    };
    contributions.into_iter().filter_map(metric).collect()
}
