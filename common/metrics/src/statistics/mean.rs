//! Sums that may be empty.

/// The sum in order, from 0.0: `Iterator::sum` of no numbers is -0.0, which is printed with its sign.
pub(crate) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

// Means and closed-form standard errors, summed from left to right as lm-eval's `api/metrics.py` does.

/// The arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `sum(a) / sum(b)` of pairs (a, b).
pub fn weighted_mean(pairs: &[(f64, f64)]) -> f64 {
    let sums = pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
    sums.0 / sums.1
}

/// lm-eval's `median`: the upper one of two in the middle; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The standard deviation with n - 1; `None` for fewer than two values.
pub fn sample_stddev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The standard error of the mean; `None` for fewer than two values.
pub fn mean_stderr(values: &[f64]) -> Option<f64> {
    Some(sample_stddev(values)? / (values.len() as f64).sqrt())
}

/// The standard error of a group of subtasks of `(stderr, size)`, weighted by size; `None` unless sizes exceed subtasks.
pub fn pooled_sample_stderr(subtasks: &[(f64, u64)]) -> Option<f64> {
    let sizes: u64 = subtasks.iter().map(|(_, size)| size).sum();
    let freedom = sizes.checked_sub(subtasks.len() as u64).filter(|&freedom| freedom > 0)?;
    let square = |&(stderr, size): &(f64, u64)| (size as f64 - 1.0) * (stderr * stderr) * size as f64;
    let variance = subtasks.iter().map(square).sum::<f64>() / freedom as f64;
    Some((variance / sizes as f64).sqrt())
}

/// The standard error of the plain mean of subtasks, from theirs; NaN of nothing.
pub fn unweighted_mean_stderr(stderrs: &[f64]) -> f64 {
    stderrs.iter().map(|stderr| stderr * stderr).sum::<f64>().sqrt() / stderrs.len() as f64
}

/// OpenCompass's harmonic mean of a summary group: n / sum(1 / s), a score that is not positive counting 1 / max(s, 1).
pub fn harmonic_mean(scores: &[f64]) -> f64 {
    let inverse = |&score: &f64| if score > 0.0 { 1.0 / score } else { 1.0 / score.max(1.0) };
    scores.len() as f64 / scores.iter().map(inverse).sum::<f64>()
}
