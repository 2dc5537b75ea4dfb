//! The Brier score of a choice (lm-eval).

/// The squared distance of the softmax of `log_likelihoods` (nats) from the gold choice, in 0..=2; the metric is its mean.
pub fn brier_score(log_likelihoods: &[f64], gold: usize) -> f64 {
    let greatest = log_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_likelihoods.iter().map(|log| (log - greatest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let distance = |(at, weight): (usize, &f64)| (weight / sum - f64::from(at == gold)).powi(2);
    weights.iter().enumerate().map(distance).sum()
}
