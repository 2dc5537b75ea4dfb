//! The mean of paired differences, with Student's t.

use super::student::student_tail;

/// A mean of differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanDifference {
    pub mean: f64,
    /// Of the mean. 0 where all differences are equal.
    pub stderr: f64,
    /// Degrees of freedom of the t distribution.
    pub freedom: f64,
    /// Two-sided, of a mean of 0.
    pub p: f64,
}

impl MeanDifference {
    pub(crate) fn new(mean: f64, stderr: f64, freedom: f64) -> Self {
        let p = match (mean == 0.0, stderr == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 2.0 * student_tail((mean / stderr).abs(), freedom),
        };
        Self { mean, stderr, freedom, p }
    }
}

/// The paired t test of differences, as `scipy.stats.ttest_1samp`. `None` for fewer than two.
pub fn paired_mean(differences: &[f64]) -> Option<MeanDifference> {
    let n = differences.len() as f64;
    if differences.len() < 2 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some(MeanDifference::new(mean, (squares / (n - 1.0) / n).sqrt(), n - 1.0))
}
