//! The area under the ROC curve, as scikit-learn's `roc_auc_score` computes it for two classes.

use serde::{Deserialize, Serialize};

/// Scores by class: the curve needs every one of them. In the order observed; the result does not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AucStats {
    /// Scores of samples of the positive class.
    pub positive: Vec<f64>,
    /// Scores of samples of the negative class.
    pub negative: Vec<f64>,
}

impl AucStats {
    /// One sample: its class and the score for the positive class. OpenCompass's `AUCROCEvaluator` takes the second of the
    /// two probabilities.
    pub fn observe(&mut self, is_positive: bool, score: f64) {
        if is_positive { self.positive.push(score) } else { self.negative.push(score) }
    }

    /// Adds other samples.
    pub fn merge(&mut self, other: &Self) {
        self.positive.extend(&other.positive);
        self.negative.extend(&other.negative);
    }

    /// The area in 0..=1; `None` when a class is missing, where it is undefined.
    pub fn score(&self) -> Option<f64> {
        auc_roc(&self.positive, &self.negative)
    }
}

/// The share of (positive, negative) pairs that are in order, ties counting half: the area under trapezoids.
pub fn auc_roc(positive: &[f64], negative: &[f64]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let mut all: Vec<(f64, bool)> = positive.iter().map(|&score| (score, true)).collect();
    all.extend(negative.iter().map(|&score| (score, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the number of pairs in order, so that ties stay whole.
    let (mut below, mut twice) = (0u128, 0u128);
    for tied in all.chunk_by(|a, b| a.0 == b.0) {
        let hits = tied.iter().filter(|(_, is_positive)| *is_positive).count() as u128;
        let misses = tied.len() as u128 - hits;
        twice += hits * (2 * below + misses);
        below += misses;
    }
    Some(twice as f64 / (2 * positive.len() as u128 * negative.len() as u128) as f64)
}
