//! Facts about one model on one data set, and what the table says of it.

use super::notes::MissingReason;
use super::table_value::{TableValue, Uncertainty};
use crate::evaluator::{Counts, Metrics};

/// One model on one data set.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// It was evaluated, perhaps with failed or missing samples.
    Evaluated(Metrics),
    /// No sample has a score, every one for this same reason in words.
    Failed { counts: Counts, reason: String },
    /// It was not, for this reason in words.
    Missing(String),
    /// The job has no such pair.
    NotAsked,
}

impl TableCell {
    /// Scored and failed samples; nothing when it was not evaluated.
    fn counts(&self) -> Counts {
        match self {
            Self::Evaluated(metrics) => metrics.counts,
            Self::Failed { counts, .. } => *counts,
            Self::Missing(_) | Self::NotAsked => Counts::default(),
        }
    }

    /// The number of that name over `expected` samples, or in words why there is none.
    pub(super) fn value(&self, metric: &str, expected: u64) -> TableValue {
        let value = match self {
            Self::NotAsked => return TableValue::not_asked(),
            Self::Missing(reason) => Err(MissingReason::missing(reason.clone())),
            Self::Failed { counts, reason } if counts.cancelled == counts.failed => {
                Err(MissingReason::withheld(reason.clone()))
            }
            Self::Failed { counts, reason } => {
                Err(MissingReason::withheld(format!("{} of {expected} failed: {reason}", counts.failed)))
            }
            Self::Evaluated(metrics) => match metrics.get(metric) {
                Some(metric) => Ok(metric.value),
                None => Err(match metrics.withheld(expected) {
                    Some(reason) => MissingReason::withheld(reason),
                    None => MissingReason::none(format!("{metric} is not a metric of this model's results")),
                }),
            },
        };
        let uncertainty = match self {
            Self::Evaluated(metrics) => metrics
                .get(metric)
                .map_or_else(Uncertainty::default, |metric| Uncertainty { stderr: metric.stderr, ci95: metric.ci95 }),
            _ => Uncertainty::default(),
        };
        let answers = match self {
            Self::Evaluated(metrics) => metrics.answers.clone(),
            _ => None,
        };
        TableValue { value, expected, counts: self.counts(), uncertainty, answers }
    }
}
