//! Progress of a unit while it runs, and its first metric with the interval of that, as shard reports tell.

use compass_stats::{two_sided_z, wilson};
use serde::Serialize;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Progress of a unit, and its first metric as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveMetric {
    pub model: String,
    pub dataset: String,
    /// Samples with a durable result, of how many.
    pub recorded: u64,
    pub expected: u64,
    /// Recorded samples that this leader recorded with the result of another, whose request equals theirs: no worker
    /// reports a score of them.
    pub copied: u64,
    /// Samples of the reported tasks: those with a score, over which the value is, and those without.
    pub scored: u64,
    pub failed: u64,
    /// Empty until a task with a score is reported.
    pub metric: String,
    pub value: Option<f64>,
    /// Wilson's interval of 95 % around the value, in percent; `None` where the value is no share of right answers.
    pub interval: Option<(f64, f64)>,
}

impl LiveMetric {
    /// With the interval that belongs to its value.
    #[must_use]
    pub fn with_interval(self) -> Self {
        let interval = self.value.and_then(|value| interval(value, self.scored));
        Self { interval, ..self }
    }
}

/// Returns names and values as they are shown: `sums_gen`, `93.2`, with the model where there are several.
pub(super) fn scores(live: &[LiveMetric]) -> Vec<(String, String)> {
    let several = live.iter().any(|metric| live.first().is_some_and(|first| first.model != metric.model));
    let scores = live.iter().filter_map(|LiveMetric { model, dataset, value, .. }| {
        let name = if several { format!("{model}/{dataset}") } else { dataset.clone() };
        Some((name, format!("{:.1}", (*value)?)))
    });
    scores.collect()
}

/// Wilson's interval of 95 % for a share of right answers, in percent; `None` for a metric that is none.
fn interval(value: f64, scored: u64) -> Option<(f64, f64)> {
    let n = scored as f64;
    let right = value / 100.0 * n;
    if !(0.0..=n).contains(&right) || (right - right.round()).abs() > 1e-6 * n.max(1.0) {
        return None;
    }
    let share = wilson(right.round() as u64, scored, two_sided_z(CONFIDENCE))?;
    Some((100.0 * share.low, 100.0 * share.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons_and_of_shares_alone() {
        // statsmodels 0.14: proportion_confint(7, 10, method="wilson")
        let (low, high) = interval(70.0, 10).unwrap();
        assert!((low - 39.677_88).abs() < 1e-4 && (high - 89.220_87).abs() < 1e-4, "{low} {high}");
        assert_eq!(interval(100.0, 5).map(|(_, high)| high), Some(100.0));
        for (value, scored) in [(33.0, 10), (120.0, 10), (50.0, 0)] {
            assert_eq!(interval(value, scored), None, "{value} of {scored}");
        }
        assert_eq!(LiveMetric::default().with_interval().interval, None);
    }
}
