//! Wilson's score interval of a share (E. B. Wilson, 1927).

use super::Interval;

/// The interval of `hits` of `total`; `z` is the normal quantile of the confidence. `None` without a total. Its ends are exact
/// where all or none are hits.
pub fn wilson(hits: u64, total: u64, z: f64) -> Option<Interval> {
    if total == 0 {
        return None;
    }
    let n = total as f64;
    let (p, square) = (hits as f64 / n, z * z);
    let centre = (p + square / (2.0 * n)) / (1.0 + square / n);
    let half = z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt() / (1.0 + square / n);
    let low = if hits == 0 { 0.0 } else { centre - half };
    let high = if hits == total { 1.0 } else { centre + half };
    Some(Interval { low, high })
}
