//! Tango's score interval of a difference of paired shares (Statistics in Medicine 17, 891-908, 1998).
//!
//! Of the common intervals the one that keeps its coverage where pairs are few, shares are near their ends, or no pair is
//! discordant.

use super::Interval;

/// The interval of P(right in the second) - P(right in the first), of `gained` pairs that are right only in the second, `lost`
/// ones right only in the first, and `pairs` in all; `z` is the normal quantile of the confidence. Within [-1, 1]; the whole of
/// it without pairs.
pub fn tango(gained: u64, lost: u64, pairs: u64, z: f64) -> Interval {
    if pairs == 0 {
        return Interval { low: -1.0, high: 1.0 };
    }
    counts(gained as f64, lost as f64, pairs as f64, z)
}

/// The interval that `pairs` pairs would have of which these shares are right only in the second and only in the first; the
/// number of pairs need not be whole. Where no pair is discordant it reaches z² / (n + z²) to either side.
pub fn tango_of_shares(gained: f64, lost: f64, pairs: f64, z: f64) -> Interval {
    if pairs <= 0.0 {
        return Interval { low: -1.0, high: 1.0 };
    }
    counts(gained * pairs, lost * pairs, pairs, z)
}

fn counts(gained: f64, lost: f64, n: f64, z: f64) -> Interval {
    // The upper end is the lower one of the mirrored table.
    Interval { low: lower(gained, lost, n, z), high: -lower(lost, gained, n, z) }
}

/// The least difference that the score test does not reject.
fn lower(gained: f64, lost: f64, n: f64, z: f64) -> f64 {
    let observed = (gained - lost) / n;
    // The score falls with the difference: z is between -1 and what was observed.
    let (mut low, mut high) = (-1.0, observed);
    if score(gained, lost, n, low).is_some_and(|score| score <= z) {
        return low;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        match score(gained, lost, n, middle) {
            Some(score) if score <= z => high = middle,
            _ => low = middle,
        }
    }
}

/// Tango's statistic at a difference; `None` where its variance is nothing.
fn score(gained: f64, lost: f64, n: f64, difference: f64) -> Option<f64> {
    let a = 2.0 * n;
    let b = (2.0 * n - gained + lost) * difference - gained - lost;
    let c = -lost * difference * (1.0 - difference);
    let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
    // The constrained estimate of P(right only in the first), in the form that does not cancel.
    let share = if b > 0.0 { -2.0 * c / (b + root) } else { (root - b) / (2.0 * a) };
    let variance = n * (2.0 * share + difference * (1.0 - difference));
    (variance > 0.0).then(|| (gained - lost - n * difference) / variance.sqrt())
}
