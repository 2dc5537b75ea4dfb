//! Wilson's score interval of a share (E. B. Wilson, 1927).

use super::Interval;

/// The interval of `hits` of `total`; `z` is the normal quantile of the confidence. `None` without a total. Its ends are exact
/// where all or none are hits.
pub fn wilson(hits: u64, total: u64, z: f64) -> Option<Interval> {
    if total == 0 {
        return None;
    }
    wilson_of_share(hits as f64 / total as f64, total as f64, z)
}

/// The interval of a share of `total`, which need not be whole. Of a mean of values between 0 and 1 it is not too narrow: none
/// varies more than hits do. `None` without a total.
pub fn wilson_of_share(share: f64, total: f64, z: f64) -> Option<Interval> {
    if total <= 0.0 {
        return None;
    }
    let (n, p, square) = (total, share, z * z);
    let centre = (p + square / (2.0 * n)) / (1.0 + square / n);
    let half = z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt() / (1.0 + square / n);
    let low = if p == 0.0 { 0.0 } else { centre - half };
    let high = if p == 1.0 { 1.0 } else { centre + half };
    Some(Interval { low, high })
}
