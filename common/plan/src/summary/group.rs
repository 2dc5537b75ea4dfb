//! A group of data sets that the table shows as one, and how its number is made.

use super::transform::Transform;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryGroup {
    /// Its name in the table.
    pub name: String,
    /// Parts that it is made of: data sets, or groups that come before it.
    pub subsets: Vec<Subset>,
    pub average: Average,
    /// Name of its number; [`Average::name`] unless given.
    pub metric: Option<String>,
    /// Set if it is shown only where every subset is in the table, as OpenCompass shows groups, or where it is asked for by name.
    #[serde(default)]
    pub whole: bool,
    /// Transforms of the numbers of subsets, by name, before one is made of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub transforms: BTreeMap<String, Transform>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subset {
    /// The data set or the group.
    pub name: String,
    /// The metric that counts; its first one unless given.
    pub metric: Option<String>,
}

/// Way that the numbers of the subsets become one. The formulas are from OpenCompass's `DefaultSummarizer`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Average {
    /// The mean.
    #[default]
    Naive,
    /// The mean with these weights, one per subset.
    Weighted(Vec<f64>),
    /// lm-eval's mean of a group: each data set, those of groups within the group too, weighs as many samples as it has.
    BySize,
    /// lm-eval's mean of a group that does not weigh: each data set counts alike, those of groups within the group too.
    ByDataSet,
    Sum,
    /// The harmonic mean; when a number is not positive, numbers below 1 count as 1.
    Harmonic,
    /// The standard deviation of the subsets as a population.
    StandardDeviation,
}

impl SummaryGroup {
    /// The plain mean over data sets by their first metrics.
    pub fn naive(name: impl Into<String>, subsets: impl IntoIterator<Item = String>) -> Self {
        let subsets = subsets.into_iter().map(|name| Subset { name, metric: None }).collect();
        Self {
            name: name.into(),
            subsets,
            average: Average::Naive,
            metric: None,
            whole: false,
            transforms: BTreeMap::new(),
        }
    }

    /// The number of a subset as the group takes it.
    ///
    /// # Errors
    /// What its transform raises.
    pub fn taken(&self, subset: &str, score: f64) -> Result<f64, String> {
        self.transforms.get(subset).map_or(Ok(score), |transform| transform.of(score))
    }

    /// The group with the data sets of groups within it in their place, where its average is over data sets; as it is otherwise.
    /// `before` are the groups that come before it: it is made of no other.
    #[must_use]
    pub fn of_leaves(&self, before: &[Self], is_data_set: &dyn Fn(&str) -> bool) -> Self {
        match self.average {
            Average::BySize | Average::ByDataSet => Self { subsets: self.leaves(before, is_data_set), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// The data sets that the group is made of, one that is in several groups within it as often, as lm-eval counts it. A metric
    /// that is named for a group within it is named for that one's data sets.
    pub fn leaves(&self, before: &[Self], is_data_set: &dyn Fn(&str) -> bool) -> Vec<Subset> {
        let mut leaves = Vec::with_capacity(self.subsets.len());
        for subset in &self.subsets {
            let at = before.iter().position(|other| other.name == subset.name).filter(|_| !is_data_set(&subset.name));
            let Some(at) = at else {
                leaves.push(subset.clone());
                continue;
            };
            let inner = &before[at];
            let metric = subset.metric.as_ref().filter(|metric| metric.as_str() != inner.metric_name());
            for leaf in inner.leaves(&before[..at], is_data_set) {
                leaves.push(Subset { metric: metric.cloned().or(leaf.metric), name: leaf.name });
            }
        }
        leaves
    }

    /// Returns the name of its number.
    pub fn metric_name(&self) -> &str {
        self.metric.as_deref().unwrap_or(self.average.name())
    }
}

impl Average {
    /// OpenCompass's name of the number.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Naive | Self::ByDataSet => "naive_average",
            Self::Weighted(_) | Self::BySize => "weighted_average",
            Self::Sum => "sum",
            Self::Harmonic => "harmonic_mean",
            Self::StandardDeviation => "standard_deviation",
        }
    }

    /// One number of the subsets' numbers, which stand in their order, each on so many samples; `None` of none, or where weights
    /// do not fit them.
    pub fn of(&self, scores: &[f64], sizes: &[u64]) -> Option<f64> {
        let count = scores.len() as f64;
        if scores.is_empty() {
            return None;
        }
        let sum: f64 = scores.iter().sum();
        match self {
            Self::Naive | Self::ByDataSet => Some(sum / count),
            Self::Sum => Some(sum),
            Self::Weighted(weights) => weighted(scores, weights),
            Self::BySize => weighted(scores, &sizes.iter().map(|size| *size as f64).collect::<Vec<_>>()),
            Self::Harmonic => {
                let least = if scores.iter().any(|score| *score <= 0.0) { 1.0 } else { 0.0 };
                Some(count / scores.iter().map(|score| 1.0 / score.max(least)).sum::<f64>())
            }
            Self::StandardDeviation => {
                let mean = sum / count;
                let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
                Some((squares / count).sqrt())
            }
        }
    }
}

impl Average {
    /// Weight of each subset, where the number is a weighted sum of theirs; `None` for other averages, or where weights do not fit.
    pub fn shares(&self, sizes: &[u64]) -> Option<Vec<f64>> {
        let of_total = |weights: &[f64]| {
            let total: f64 = weights.iter().sum();
            let shares = weights.iter().map(|weight| weight / total).collect();
            (weights.len() == sizes.len() && total > 0.0).then_some(shares)
        };
        match self {
            Self::Naive | Self::ByDataSet => of_total(&vec![1.0; sizes.len()]),
            Self::Weighted(weights) => of_total(weights),
            Self::BySize => of_total(&sizes.iter().map(|size| *size as f64).collect::<Vec<_>>()),
            Self::Sum => Some(vec![1.0; sizes.len()]),
            Self::Harmonic | Self::StandardDeviation => None,
        }
    }

    /// Standard error of the number by those of the subsets, which are independent samples of such sizes; `None` where none follows.
    ///
    /// The means are lm-eval's: `unweighted_mean_stderr`, and with weights by size `pooled_sample_stderr`. Other weighted sums add
    /// variances.
    pub fn stderr(&self, errors: &[f64], sizes: &[u64]) -> Option<f64> {
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        let found = match self {
            Self::Naive | Self::ByDataSet => squares.sqrt() / errors.len() as f64,
            Self::BySize => {
                let size = |at: usize| sizes.get(at).map_or(0.0, |size| *size as f64);
                let pooled = errors.iter().enumerate().map(|(at, error)| (size(at) - 1.0) * (error * error) * size(at));
                let total = sizes.iter().map(|size| *size as f64).sum::<f64>();
                (pooled.sum::<f64>() / (total - sizes.len() as f64) / total).sqrt()
            }
            Self::Weighted(_) | Self::Sum => {
                let shares = self.shares(sizes)?;
                shares.iter().zip(errors).map(|(share, error)| (share * error).powi(2)).sum::<f64>().sqrt()
            }
            Self::Harmonic | Self::StandardDeviation => return None,
        };
        found.is_finite().then_some(found)
    }
}

fn weighted(scores: &[f64], weights: &[f64]) -> Option<f64> {
    let total: f64 = weights.iter().sum();
    let products = scores.iter().zip(weights).map(|(score, weight)| score * weight);
    (weights.len() == scores.len() && total != 0.0).then(|| products.sum::<f64>() / total)
}

#[cfg(test)]
mod tests {
    //! Expected numbers were printed by the formulas of OpenCompass 0.5.4 under CPython 3.11.
    use super::*;

    #[test]
    fn averages() {
        let scores = [50.0, 25.5, 100.0];
        for (average, expected) in [
            (Average::Naive, 58.5),
            (Average::Weighted(vec![1.0, 2.0, 0.0]), 33.666666666666664),
            (Average::Sum, 175.5),
            (Average::Harmonic, 43.342776203966004),
            (Average::StandardDeviation, 31.002688055500393),
        ] {
            let found = average.of(&scores, &[1, 1, 1]).unwrap();
            assert!((found - expected).abs() < 1e-12, "{average:?}: {found}");
            assert_eq!(average.of(&[], &[]), None);
        }
        assert_eq!(Average::Harmonic.of(&[0.0, 0.5, 4.0], &[1, 1, 1]), Some(3.0 / 2.25));
        // lm-eval's aggregate_subtask_metrics([50.0, 25.5, 100.0], [10, 20, 5])
        assert_eq!(Average::BySize.of(&scores, &[10, 20, 5]), Some((500.0 + 510.0 + 500.0) / 35.0));
        assert_eq!(Average::BySize.of(&scores, &[0; 3]), None);
        assert_eq!(Average::Weighted(vec![1.0]).of(&scores, &[1, 1, 1]), None);
        assert_eq!(Average::Weighted(vec![0.0; 3]).of(&scores, &[1, 1, 1]), None);
    }
}
