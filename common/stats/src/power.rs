//! Size of the difference that a comparison can see, and the number of pairs that it would take.

/// The smallest difference of paired shares that McNemar's test finds with the power of `z_power` (0.8416 for 80 %) at the level
/// of `z_level` (1.96 for 5 %), of `pairs` pairs of which a share `discordance` differs (Connor, Biometrics 43, 1987). `None`
/// where even differences that all point one way would not be found.
pub fn detectable_share(pairs: u64, discordance: f64, z_level: f64, z_power: f64) -> Option<f64> {
    let root = (pairs as f64).sqrt();
    let shortfall = |difference: f64| {
        let spread = (discordance - difference * difference).max(0.0).sqrt();
        z_level * discordance.sqrt() + z_power * spread - difference * root
    };
    if discordance <= 0.0 || pairs == 0 || shortfall(discordance) > 0.0 {
        return None;
    }
    let (mut low, mut high) = (0.0, discordance);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return Some(high);
        }
        if shortfall(middle) > 0.0 { low = middle } else { high = middle }
    }
}

/// The smallest difference of means that is found with this power, of the standard error of the mean.
pub fn detectable_difference(stderr: f64, z_level: f64, z_power: f64) -> f64 {
    (z_level + z_power) * stderr
}

/// More pairs than this are no answer that helps anyone.
const MOST_PAIRS: u64 = 1_000_000_000_000;

/// The smallest number of pairs, at least `least`, with which `tells` holds; from one number on it has to hold for all that are
/// larger. By doubling, then by halving what is left. `None` where more than 10^12 pairs would be needed.
pub fn pairs_needed(least: u64, tells: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut below, mut enough) = (least, least);
    while !tells(enough) {
        if enough >= MOST_PAIRS {
            return None;
        }
        (below, enough) = (enough + 1, enough.saturating_mul(2).clamp(enough + 1, MOST_PAIRS));
    }
    while below < enough {
        let middle = below + (enough - below) / 2;
        if tells(middle) { enough = middle } else { below = middle + 1 }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_that_tells_is_found() {
        for wanted in [1, 2, 3, 124, 125, 1_000_003, MOST_PAIRS] {
            assert_eq!(pairs_needed(1, |pairs| pairs >= wanted), Some(wanted));
        }
        assert_eq!(pairs_needed(50, |pairs| pairs >= 3), Some(50));
        assert_eq!(pairs_needed(1, |_| false), None);
    }
}
