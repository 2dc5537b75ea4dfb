//! Means of differences that are not independent: questions about one passage, answers to one question.

use super::paired_mean::MeanDifference;

/// Sums by cluster; `clusters` names the cluster of each value by a number below `count`.
pub fn cluster_sums(values: &[f64], clusters: &[u32], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (value, cluster) in values.iter().zip(clusters) {
        if let Some(sum) = sums.get_mut(*cluster as usize) {
            *sum += value;
        }
    }
    sums
}

/// The mean of all values with the cluster-robust standard error (Liang and Zeger 1986; Miller 2024, arXiv 2411.00640) and the
/// correction G / (G - 1) for G clusters: statsmodels' `OLS(...).fit(cov_type="cluster", use_t=True)` of a constant. `None` for
/// fewer than two clusters.
pub fn clustered_mean(values: &[f64], clusters: &[u32], count: usize) -> Option<MeanDifference> {
    if count < 2 || values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let squares: f64 = cluster_sums(&centred, clusters, count).iter().map(|sum| sum * sum).sum();
    let groups = count as f64;
    let stderr = (squares * groups / (groups - 1.0)).sqrt() / n;
    Some(MeanDifference::new(mean, stderr, groups - 1.0))
}
