//! The sign-flip permutation test of paired differences: under the null hypothesis each difference is as likely as its negative.

use super::normal::normal_tail;
use compass_types::seeded::Rng;

/// Up to so many differences other than 0 every assignment of signs is looked at.
const EXACT_UP_TO: usize = 20;
/// Beyond it so many are drawn.
const DRAWS: u64 = 100_000;
/// Beyond so many differences the distribution is normal to more digits than draws could tell.
const DRAWN_UP_TO: usize = 20_000;
/// Sums that are this close to what was observed, as a share of it, count as equal: they differ by rounding alone.
const EQUAL: f64 = 1e-12;

/// Way in which a p-value was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignFlip {
    /// Over all assignments of signs.
    Exact { p: f64 },
    /// Over so many random ones, with what was observed as one of them.
    Drawn { p: f64, draws: u64 },
    /// By the normal limit of the distribution.
    Normal { p: f64 },
}

impl SignFlip {
    /// Two-sided.
    pub fn p(self) -> f64 {
        match self {
            Self::Exact { p } | Self::Drawn { p, .. } | Self::Normal { p } => p,
        }
    }
}

/// Tests whether the sum of `differences` is 0. Of clustered differences hand the sums by cluster: whole clusters are flipped.
/// The same seed gives the same number.
pub fn sign_flip(differences: &[f64], seed: u64) -> SignFlip {
    // A difference of 0 is the same with either sign.
    let moved: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
    let observed = moved.iter().sum::<f64>().abs();
    let bound = observed * (1.0 - EQUAL);
    match moved.len() {
        0 => SignFlip::Exact { p: 1.0 },
        n if n <= EXACT_UP_TO => {
            let all = 1u64 << n;
            let reached = (0..all).filter(|signs| flipped(&moved, *signs).abs() >= bound).count();
            SignFlip::Exact { p: reached as f64 / all as f64 }
        }
        n if n <= DRAWN_UP_TO => {
            let reached = drawn(&moved, bound, seed);
            SignFlip::Drawn { p: (reached + 1) as f64 / (DRAWS + 1) as f64, draws: DRAWS }
        }
        _ => {
            let variance: f64 = moved.iter().map(|value| value * value).sum();
            SignFlip::Normal { p: (2.0 * normal_tail(observed / variance.sqrt())).min(1.0) }
        }
    }
}

fn flipped(values: &[f64], signs: u64) -> f64 {
    values.iter().enumerate().map(|(at, value)| if signs >> at & 1 == 1 { -value } else { *value }).sum()
}

/// How many of the random assignments reach the bound. Seven values at a time by a table of their signed sums, nine lookups of a
/// random number.
fn drawn(values: &[f64], bound: f64, seed: u64) -> u64 {
    const WIDTH: usize = 7;
    const SIGNS: usize = 1 << WIDTH;
    const PER_NUMBER: usize = 9;
    let tables: Vec<[f64; SIGNS]> =
        values.chunks(WIDTH).map(|chunk| std::array::from_fn(|signs| flipped(chunk, signs as u64))).collect();
    let mut random = Rng::new(seed);
    let mut reached = 0;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for group in tables.chunks(PER_NUMBER) {
            let mut bits = random.below(1 << 63);
            for table in group {
                sum += table[bits as usize % SIGNS];
                bits >>= WIDTH;
            }
        }
        reached += u64::from(sum.abs() >= bound);
    }
    reached
}
