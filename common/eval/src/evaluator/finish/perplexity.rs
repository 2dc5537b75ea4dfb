//! lm-eval's `perplexity`: `exp(-mean)` of log-likelihoods, with the bootstrap that it uses for the standard error.

use super::Effort;
use super::mean::scores;
use crate::evaluator::series::Column;
use crate::evaluator::{Metric, Z_95};
use compass_metrics::statistics::{bootstrap_stderr, mean_stderr};

/// The perplexity of the scores. The interval is that of the mean carried over, so that it stays above 0.
pub(super) fn metric(name: &str, column: &Column, effort: Effort) -> Option<Metric> {
    let scores = scores(column);
    let value = perplexity(&scores);
    let error = mean_stderr(&scores);
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let ci95 = error.map(|error| ((-mean - Z_95 * error).exp(), (-mean + Z_95 * error).exp()));
    let bootstrapped = error.filter(|_| effort == Effort::Full).and_then(|_| bootstrap(&scores));
    (!scores.is_empty()).then(|| Metric { name: name.into(), value, stderr: bootstrapped, ci95 })
}

/// Resamples of lm-eval's bootstrap for this metric.
const RESAMPLES: usize = 100_000;

fn bootstrap(scores: &[f64]) -> Option<f64> {
    bootstrap_stderr(scores.len(), RESAMPLES, |drawn| {
        (-(drawn.iter().map(|&at| scores[at]).sum::<f64>() / drawn.len() as f64)).exp()
    })
}

fn perplexity(scores: &[f64]) -> f64 {
    (-(scores.iter().sum::<f64>() / scores.len() as f64)).exp()
}
