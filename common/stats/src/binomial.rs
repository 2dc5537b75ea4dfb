//! The binomial distribution with equal chances.
//!
//! Loader's saddle-point form ("Fast and Accurate Computation of Binomial Probabilities", 2000): no difference of large
//! logarithms, so the relative error stays near that of a double for any n.

use super::special::stirling;
use libm::{exp, log1p};
use std::f64::consts::{LN_2, PI};

/// P(X = k) of n throws.
pub(crate) fn probability(k: u64, n: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    if k == 0 || k == n {
        return exp(-(n as f64) * LN_2);
    }
    let (heads, throws) = (k as f64, n as f64);
    let tails = (n - k) as f64;
    let deviance = 0.5 * throws * deviance((heads - tails) / throws);
    let correction = stirling(throws) - stirling(heads) - stirling(tails);
    exp(correction - deviance) * (throws / (2.0 * PI * heads * tails)).sqrt()
}

/// P(X <= k) of n throws, for k below or at half of n.
pub(crate) fn lower_tail(k: u64, n: u64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for i in 0..k {
        term *= (k - i) as f64 / (n - k + 1 + i) as f64;
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    probability(k, n) * sum
}

/// (1 + e) ln(1 + e) + (1 - e) ln(1 - e).
fn deviance(e: f64) -> f64 {
    let square = e * e;
    if square > 0.09 {
        return (1.0 + e) * log1p(e) + (1.0 - e) * log1p(-e);
    }
    // Sum of e^2j / (j (2j - 1)): the terms fall by a factor of ten.
    let (mut power, mut sum) = (1.0, 0.0);
    for j in 1..40 {
        power *= square;
        let j = f64::from(j);
        let term = power / (j * (2.0 * j - 1.0));
        sum += term;
        if term < 1e-18 * sum {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_are_exact_fractions() {
        for (k, n, of) in [(0, 4, 1.0 / 16.0), (1, 4, 4.0 / 16.0), (2, 4, 6.0 / 16.0), (3, 10, 120.0 / 1024.0)] {
            assert!((probability(k, n) / of - 1.0).abs() < 1e-14, "{k} of {n}");
        }
        assert!((lower_tail(3, 10) - 176.0 / 1024.0).abs() < 1e-15);
        assert_eq!(probability(5, 4), 0.0);
    }
}
