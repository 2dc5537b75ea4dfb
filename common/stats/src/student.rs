//! Student's t distribution.

use super::normal::normal_quantile;
use super::special::{beta_half, gamma_ratio};
use libm::{exp, log1p};
use std::f64::consts::PI;

/// P(T > t) for `freedom` degrees of freedom, which need not be whole.
pub fn student_tail(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    if !square.is_finite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    let sum = freedom + square;
    let tail = 0.5 * beta_half(0.5 * freedom, freedom / sum, square / sum);
    if t >= 0.0 { tail } else { 1.0 - tail }
}

fn density(t: f64, freedom: f64) -> f64 {
    let power = exp(-0.5 * (freedom + 1.0) * log1p(t * t / freedom));
    gamma_ratio(0.5 * freedom) / (PI * freedom).sqrt() * power
}

/// The t of which P(T <= t) = `p`. By Newton's method from the normal quantile with Fisher and Cornish's first correction, within
/// a bracket that halves where a step leaves it.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if !(p > 0.0 && p < 1.0 && freedom > 0.0) {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    let tail = p.min(1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while student_tail(high, freedom) > tail && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    let z = -normal_quantile(tail);
    let mut t = (z + (z * z * z + z) / (4.0 * freedom)).clamp(low, high);
    for _ in 0..200 {
        let excess = student_tail(t, freedom) - tail;
        if excess > 0.0 {
            low = t
        } else {
            high = t
        }
        let step = excess / density(t, freedom);
        let next = t + step;
        let next = if next > low && next < high { next } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-15 * t.abs() {
            t = next;
            break;
        }
        t = next;
    }
    if p < 0.5 { -t } else { t }
}

/// The t of which P(|T| <= t) = `confidence`.
pub fn two_sided_t(confidence: f64, freedom: f64) -> f64 {
    -student_quantile(0.5 * (1.0 - confidence), freedom)
}
