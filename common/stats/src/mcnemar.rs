//! McNemar's exact test of paired shares.

use super::binomial::{lower_tail, probability};

/// Two-sided p-values of McNemar's test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McNemar {
    /// Exact and conditional: of the binomial distribution of the discordant pairs.
    pub exact: f64,
    /// With half the probability of what was observed (Fagerland, Lydersen and Laake 2013): closer to its level.
    pub mid: f64,
}

/// Tests whether `gained` pairs, right only in the second of two measurements, and `lost` ones, right only in the first, are
/// equally likely. 1 without discordant pairs.
pub fn mcnemar(gained: u64, lost: u64) -> McNemar {
    let (least, n) = (gained.min(lost), gained + lost);
    if n == 0 {
        return McNemar { exact: 1.0, mid: 1.0 };
    }
    let point = probability(least, n);
    if gained == lost {
        return McNemar { exact: 1.0, mid: 1.0 - 0.5 * point };
    }
    let exact = (2.0 * lower_tail(least, n)).min(1.0);
    McNemar { exact, mid: exact - point }
}
