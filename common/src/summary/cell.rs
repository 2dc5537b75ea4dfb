//! What is known of one model on one data set, and how it is said.

use crate::evaluator::{Counts, Metrics};

/// One model on one data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It was evaluated, perhaps with failed or missing samples.
    Evaluated(Metrics),
    /// No sample has a score, every one for this same reason in words.
    Failed { counts: Counts, reason: String },
    /// It was not, for this reason in words.
    Missing(String),
}

impl Cell {
    /// Scored and failed samples; nothing when it was not evaluated.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Evaluated(metrics) => metrics.counts,
            Self::Failed { counts, .. } => *counts,
            Self::Missing(_) => Counts::default(),
        }
    }

    /// The number with two decimals as OpenCompass prints it, or in words why there is none.
    pub(super) fn value(&self, metric: &str, expected: u64) -> Result<String, String> {
        match self {
            Self::Missing(reason) => Err(format!("missing: {reason}")),
            Self::Failed { counts, reason } => {
                Err(format!("withheld: {} of {expected} failed: {reason}", counts.failed))
            }
            Self::Evaluated(metrics) => match metrics.get(metric) {
                Some(metric) => Ok(format!("{:.2}", metric.value)),
                None => Err(match metrics.withheld(expected) {
                    Some(reason) => format!("withheld: {reason}"),
                    None => format!("{metric} is not a metric of this model's results"),
                }),
            },
        }
    }

    /// The value with its counts for a person: `93.50 (198/200, 2 failed)`.
    pub(super) fn value_with_counts(&self, metric: &str, expected: u64) -> String {
        let value = match self.value(metric, expected) {
            Ok(value) => value,
            Err(reason) => return reason,
        };
        let counts = self.counts();
        let mut shares = format!("{}/{expected}", counts.scored);
        for (count, what) in [(counts.failed, "failed"), (counts.missing(expected), "missing")] {
            if count > 0 {
                shares += &format!(", {count} {what}");
            }
        }
        format!("{value} ({shares})")
    }
}
