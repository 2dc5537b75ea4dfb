//! How much a comparison can see, and how many pairs it would take.

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

/// How many pairs it takes until an interval of `z_level` lies on one side of a bound that is `distance` away from the expected
/// difference, with the power of `z_power`; `deviation` is that of a single pair's difference. `None` where the difference is
/// the bound, or more pairs than can be counted would be needed.
pub fn pairs_needed(deviation: f64, distance: f64, z_level: f64, z_power: f64) -> Option<u64> {
    let root = (z_level + z_power) * deviation / distance.abs();
    let pairs = (root * root).ceil();
    (distance != 0.0 && pairs.is_finite() && pairs < 1e15).then(|| (pairs as u64).max(2))
}
