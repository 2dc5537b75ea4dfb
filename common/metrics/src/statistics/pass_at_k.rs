//! Pass rates of repeated samples: pass@k (Chen et al. 2021) and G-Pass@k (Liu et al. 2024).

use super::mean::sum;

/// The unbiased estimate of passing at least once in `k` draws, of `n` samples with `c` right: 1 - C(n-c, k) / C(n, k).
pub fn pass_at_k(n: u64, c: u64, k: u64) -> f64 {
    if n.saturating_sub(c) < k {
        return 1.0;
    }
    1.0 - (n - c + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product::<f64>()
}

/// The probability that at least ceil(k t), and at least one, of `k` samples drawn without replacement are right.
///
/// `t` in 0..=1. 0 for more draws than samples.
pub fn g_pass_at_k(n: u64, c: u64, k: u64, t: f64) -> f64 {
    at_least(n, c, k, ((k as f64 * t).ceil() as u64).max(1))
}

/// The mean of G-Pass@k over thresholds from one half to one: 2 / k times the sum over ceil(k / 2) + 1 ..= k.
pub fn mg_pass_at_k(n: u64, c: u64, k: u64) -> f64 {
    let sum = sum((k.div_ceil(2) + 1..=k).map(|m| at_least(n, c, k, m)));
    2.0 * sum / k as f64
}

/// The survival function of the hypergeometric distribution at m - 1.
fn at_least(n: u64, c: u64, k: u64, m: u64) -> f64 {
    if m > c.min(k) || k > n || c > n || n == 0 {
        return 0.0;
    }
    sum((m..=c.min(k)).filter(|i| k - i <= n - c).map(|i| exactly(n, c, k, i))).min(1.0)
}

/// C(k, i) times the probability of one order of i right draws followed by k - i wrong ones.
fn exactly(n: u64, c: u64, k: u64, i: u64) -> f64 {
    let orders: f64 = (0..i.min(k - i)).map(|j| (k - j) as f64 / (j + 1) as f64).product();
    let right: f64 = (0..i).map(|j| (c - j) as f64 / (n - j) as f64).product();
    let wrong: f64 = (0..k - i).map(|j| (n - c - j) as f64 / (n - i - j) as f64).product();
    orders * right * wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_threshold_is_a_plain_zero() {
        // With one draw there is no threshold between one half and one.
        assert!(mg_pass_at_k(1, 1, 1).is_sign_positive() && mg_pass_at_k(1, 1, 1) == 0.0);
        assert!(g_pass_at_k(4, 0, 2, 0.5).is_sign_positive());
    }
}
