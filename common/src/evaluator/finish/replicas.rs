//! Several answers to each question: the chance that some, or most, of k answers are right.
//!
//! Chen et al. 2021 (pass@k, unbiased) and Liu et al. 2024 (G-Pass@k), with OpenCompass's names and its `BaseEvaluator`'s
//! formulas.

use super::mean::stderr;
use super::numpy;
use crate::evaluator::Metric;
use crate::evaluator::line::Column;
use crate::evaluator::share::Item;

/// Thresholds of G-Pass@k, as OpenCompass prints them.
const THRESHOLDS: [(&str, f64); 5] = [("0.0", 0.0), ("0.25", 0.25), ("0.5", 0.5), ("0.75", 0.75), ("1.0", 1.0)];

/// Of each `k` that no question has fewer answers than: pass@k; and beyond 1 G-Pass@k at every threshold, and mG-Pass@k.
/// In percent, with the standard error of the mean over questions.
pub(super) fn metrics(column: &Column, k: &[u32]) -> Vec<Metric> {
    let questions = column.read(|item| match item {
        Item::Counts(counts) => counts.as_chunks::<2>().0.first().map(|&[right, of]| (right, of)),
        _ => None,
    });
    let mut metrics = Vec::new();
    for k in k.iter().map(|&k| u64::from(k)).filter(|&k| questions.iter().all(|&(_, of)| k <= of)) {
        let mut add = |name: String, chance: &dyn Fn(u64, u64) -> f64| {
            let chances: Vec<f64> = questions.iter().map(|&(right, of)| chance(of, right)).collect();
            let stderr = stderr(&chances).map(|stderr| 100.0 * stderr);
            metrics.push(Metric::estimate(&name, 100.0 * numpy::mean(&chances), stderr));
        };
        add(format!("pass@{k}"), &|n, c| pass_at_k(n, c, k));
        if k > 1 {
            for (name, threshold) in THRESHOLDS {
                let least = ((k as f64 * threshold).ceil() as u64).max(1);
                add(format!("G-Pass@{k}_{name}"), &|n, c| at_least(n, c, k, least));
            }
            add(format!("mG-Pass@{k}"), &|n, c| mean_above_half(n, c, k));
        }
    }
    metrics
}

/// `compute_pass_at_k`: 1 - C(n - c, k) / C(n, k).
fn pass_at_k(n: u64, c: u64, k: u64) -> f64 {
    if n - c < k {
        return 1.0;
    }
    1.0 - (n - c + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product::<f64>()
}

/// `_compute_g_pass_at_k`: the chance that at least `m` of `k` drawn from n without replacement are among the c right ones.
fn at_least(n: u64, c: u64, k: u64, m: u64) -> f64 {
    if m > c.min(k) || k > n {
        return 0.0;
    }
    let all = choose(n, k);
    (m..=c.min(k)).map(|i| choose(c, i) * choose(n - c, k - i) / all).sum::<f64>().min(1.0)
}

/// `compute_mg_pass_at_k`: twice the mean chance over the numbers above half of k.
fn mean_above_half(n: u64, c: u64, k: u64) -> f64 {
    2.0 * (k.div_ceil(2) + 1..=k).map(|m| at_least(n, c, k, m)).sum::<f64>() / k as f64
}

fn choose(n: u64, k: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
}
