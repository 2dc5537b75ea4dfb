//! The confusion matrix, and what scikit-learn makes of it: Matthews's correlation, F1, accuracy.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How often each (gold, predicted) pair of labels occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Confusion {
    /// One sample.
    pub fn observe(&mut self, gold: &str, predicted: &str) {
        *self.counts.entry(gold.into()).or_default().entry(predicted.into()).or_default() += 1;
    }

    /// Adds the counts of other samples.
    pub fn merge(&mut self, other: &Self) {
        for (gold, row) in &other.counts {
            let mine = self.counts.entry(gold.clone()).or_default();
            for (predicted, count) in row {
                *mine.entry(predicted.clone()).or_default() += count;
            }
        }
    }

    /// `accuracy_score`; NaN without samples.
    pub fn accuracy(&self) -> f64 {
        let (correct, all) = (self.labels().iter().map(|label| self.count(label, label)).sum::<u64>(), self.samples());
        correct as f64 / all as f64
    }

    /// `matthews_corrcoef` for any number of labels (Gorodkin 2004), in -1..=1; 0 when either side has one label only.
    pub fn matthews_correlation(&self) -> f64 {
        let labels = self.labels();
        let gold: Vec<f64> = labels.iter().map(|label| self.gold_total(label) as f64).collect();
        let predicted: Vec<f64> = labels.iter().map(|label| self.predicted_total(label) as f64).collect();
        let correct = labels.iter().map(|label| self.count(label, label)).sum::<u64>() as f64;
        let samples = self.samples() as f64;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let covariance = correct * samples - dot(&gold, &predicted);
        let spread = (samples * samples - dot(&predicted, &predicted)) * (samples * samples - dot(&gold, &gold));
        if spread == 0.0 { 0.0 } else { covariance / spread.sqrt() }
    }

    /// F1 of one label against all others (`f1_score(average="binary", pos_label=label)`); 0 where it is undefined.
    pub fn f1(&self, label: &str) -> f64 {
        let both = self.gold_total(label) + self.predicted_total(label);
        if both == 0 { 0.0 } else { 2.0 * self.count(label, label) as f64 / both as f64 }
    }

    /// `f1_score(average="macro")`: the plain mean over all labels that occur on either side.
    pub fn macro_f1(&self) -> f64 {
        let labels = self.labels();
        labels.iter().map(|label| self.f1(label)).sum::<f64>() / labels.len() as f64
    }

    /// `f1_score(average="weighted")`: the mean over labels weighted by how often they are gold.
    pub fn weighted_f1(&self) -> f64 {
        let weighted = self.labels().iter().map(|label| self.f1(label) * self.gold_total(label) as f64).sum::<f64>();
        weighted / self.samples() as f64
    }

    /// `f1_score(average="micro")`: over all decisions; with one label per sample it is the accuracy.
    pub fn micro_f1(&self) -> f64 {
        self.accuracy()
    }

    /// Samples seen.
    pub fn samples(&self) -> u64 {
        self.counts.values().flat_map(BTreeMap::values).sum()
    }

    fn labels(&self) -> BTreeSet<&str> {
        let gold = self.counts.keys();
        gold.chain(self.counts.values().flat_map(BTreeMap::keys)).map(String::as_str).collect()
    }

    fn count(&self, gold: &str, predicted: &str) -> u64 {
        self.counts.get(gold).and_then(|row| row.get(predicted)).copied().unwrap_or(0)
    }

    fn gold_total(&self, label: &str) -> u64 {
        self.counts.get(label).map_or(0, |row| row.values().sum())
    }

    fn predicted_total(&self, label: &str) -> u64 {
        self.counts.values().filter_map(|row| row.get(label)).sum()
    }
}
