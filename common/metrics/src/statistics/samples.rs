//! Statistics over all samples of a data set: Brier score, bootstrapped standard error, area under the curve.

use super::mean::sample_stddev;
use compass_pyfmt::PythonRandom;
use serde::{Deserialize, Serialize};

// The Brier score of a choice (lm-eval).

/// The squared distance of the softmax of `log_likelihoods` (nats) from the gold choice, in 0..=2; the metric is its mean.
pub fn brier_score(log_likelihoods: &[f64], gold: usize) -> f64 {
    let greatest = log_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_likelihoods.iter().map(|log| (log - greatest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let distance = |(at, weight): (usize, &f64)| (weight / sum - f64::from(at == gold)).powi(2);
    weights.iter().enumerate().map(distance).sum()
}

// lm-eval's bootstrap of a standard error.

/// The standard deviation of `statistic` over resamples of `n` items, drawn as lm-eval draws them.
///
/// Chunks of at most 1000 resamples, chunk i from `random.Random(i)` by `choices`; what `iterations` leaves over a multiple
/// of the chunk is not drawn. `statistic` gets the indices of a resample. lm-eval's defaults: 100,000 iterations, 100 for
/// BLEU, chrF and TER. `None` for fewer than two resamples, or without items.
pub fn bootstrap_stderr(n: usize, iterations: usize, mut statistic: impl FnMut(&[usize]) -> f64) -> Option<f64> {
    let chunk = iterations.min(1000);
    if n == 0 || chunk == 0 {
        return None;
    }
    let mut replicates = Vec::with_capacity(iterations);
    let mut drawn = vec![0; n];
    for seed in 0..iterations / chunk {
        let mut random = PythonRandom::new(seed as u64);
        for _ in 0..chunk {
            drawn.iter_mut().for_each(|index| *index = random.choice_index(n));
            replicates.push(statistic(&drawn));
        }
    }
    sample_stddev(&replicates)
}

// The area under the ROC curve, as scikit-learn's `roc_auc_score` computes it for two classes.

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
