//! What stands between the factorial and Stirling's formula, and the incomplete beta function with one half as its second
//! parameter.

use libm::{exp, log, log1p};

/// Below this argument the series is not exact to a double, and the recurrence leads up to it.
const SERIES_FROM: f64 = 16.0;

/// s(x) of `ln Γ(x) = (x - 1/2) ln x - x + ln(2π)/2 + s(x)` for x > 0 (Abramowitz and Stegun 6.1.41). As an exponent its
/// error is the relative error of what is made of it, which the difference of two `ln Γ` of large numbers would lose.
pub(crate) fn stirling(x: f64) -> f64 {
    let (mut at, mut sum) = (x, 0.0);
    while at < SERIES_FROM {
        sum += (at + 0.5) * log1p(1.0 / at) - 1.0;
        at += 1.0;
    }
    let square = 1.0 / (at * at);
    // B(2k) / (2k (2k - 1)) of k = 1..=7.
    const TERMS: [f64; 7] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    sum + TERMS.iter().rev().fold(0.0, |value, term| value * square + term) / at
}

/// Γ(a + 1/2) / Γ(a) for a > 0.
pub(crate) fn gamma_ratio(a: f64) -> f64 {
    exp(a * log1p(0.5 / a) - 0.5 + stirling(a + 0.5) - stirling(a)) * a.sqrt()
}

/// The regularised incomplete beta function I_x(a, 1/2) with x = 1 - y, for 0 <= y <= 1. Both are asked for since neither can
/// be made of the other without loss near its end.
///
/// For small a y by the power series of its complement (DLMF 8.17.8); else by the continued fraction of DiDonato and Morris
/// (ACM TOMS 708, `bfrac`), of which no term is a difference of nearly equal numbers, as those of the usual one are for large a.
pub(crate) fn beta_half(a: f64, x: f64, y: f64) -> f64 {
    if y <= 0.0 {
        return 1.0;
    }
    if x <= 0.0 {
        return 0.0;
    }
    // x^a y^(1/2) / B(a, 1/2); Γ(1/2) is the root of π.
    let power = if y < 0.5 { exp(a * log1p(-y)) } else { exp(a * log(x)) };
    let front = power * y.sqrt() * gamma_ratio(a) / std::f64::consts::PI.sqrt();
    if a * y < x { 1.0 - 2.0 * front * series(a, y) } else { front * fraction(a, x, y) }
}

/// The sum of (a + 1/2)_n / (3/2)_n y^n.
fn series(a: f64, y: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
    while term > 1e-18 * sum {
        term *= (a + 0.5 + n) / (1.5 + n) * y;
        n += 1.0;
        sum += term;
    }
    sum
}

/// Far more steps than the fraction takes where the series is not taken.
const MOST_STEPS: u32 = 10_000;

fn fraction(a: f64, x: f64, y: f64) -> f64 {
    const B: f64 = 0.5;
    let c = 1.0 + (a + B) * y - B;
    let (c0, c1) = (B / a, 1.0 + 1.0 / a);
    let (mut p, mut s) = (1.0, a + 1.0);
    let (mut numerator, mut denominator) = ((0.0, 1.0), (1.0, c / c1));
    let mut value = c1 / c;
    for n in (1..MOST_STEPS).map(f64::from) {
        let t = n / a;
        let w = n * (B - n) * x;
        let e = a / s;
        let alpha = p * (p + c0) * e * e * (w * x);
        let e = (1.0 + t) / (c1 + t + t);
        let beta = n + w / s + e * (c + n * (1.0 + y));
        (p, s) = (1.0 + t, s + 2.0);
        numerator = (numerator.1, alpha * numerator.0 + beta * numerator.1);
        denominator = (denominator.1, alpha * denominator.0 + beta * denominator.1);
        let before = value;
        value = numerator.1 / denominator.1;
        if (value - before).abs() <= 1e-16 * value {
            break;
        }
        // Kept near 1: only their ratio counts.
        numerator = (numerator.0 / denominator.1, value);
        denominator = (denominator.0 / denominator.1, 1.0);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials() {
        // ln(n!) = ln Γ(n + 1)
        for (n, factorial) in
            [(1.0_f64, 1.0_f64), (5.0, 120.0), (10.0, 3_628_800.0), (20.0, 2_432_902_008_176_640_000.0)]
        {
            let x = n + 1.0;
            let half = 0.5 * (2.0 * std::f64::consts::PI).ln();
            let found = (x - 0.5) * x.ln() - x + half + stirling(x);
            assert!((found - factorial.ln()).abs() < 1e-13, "{n}: {found}");
        }
        assert!((gamma_ratio(0.5) - 1.0 / std::f64::consts::PI.sqrt()).abs() < 1e-15);
        assert!((gamma_ratio(1e12) / 1e6 - 1.0).abs() < 1e-12);
    }
}
