//! The paired bootstrap of metrics that are made of sums over a corpus (Koehn 2004).

use super::Interval;
use compass_types::seeded::Rng;

/// A difference of corpus metrics over resamples of the pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// The standard deviation of the differences.
    pub stderr: f64,
    /// Two-sided: twice the share of resamples on the far side of 0, with one more on it than were drawn.
    pub p: f64,
    /// In ascending order.
    pub differences: Vec<f64>,
}

/// Draws `resamples` times as many of `units` units as there are, with replacement, and asks `statistic` for the difference of
/// the metric over them; a draw of which there is none (`None`, or not finite) counts as no difference. `None` without units or
/// for fewer than two resamples. A unit is a pair, or a cluster of pairs. The same seed gives the same numbers.
pub fn bootstrap(
    units: usize,
    resamples: usize,
    seed: u64,
    mut statistic: impl FnMut(&[u32]) -> Option<f64>,
) -> Option<Bootstrap> {
    if units == 0 || resamples < 2 {
        return None;
    }
    let mut random = Rng::new(seed);
    let mut drawn = vec![0u32; units];
    let mut differences = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.iter_mut().for_each(|unit| *unit = random.below(units as u64) as u32);
        differences.push(statistic(&drawn).filter(|value| value.is_finite()).unwrap_or(0.0));
    }
    let n = resamples as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|value| (value - mean) * (value - mean)).sum();
    differences.sort_by(f64::total_cmp);
    let share = |count: usize| (count + 1) as f64 / (n + 1.0);
    let at_most = share(differences.partition_point(|value| *value <= 0.0));
    let at_least = share(resamples - differences.partition_point(|value| *value < 0.0));
    let p = (2.0 * at_most.min(at_least)).min(1.0);
    Some(Bootstrap { stderr: (squares / (n - 1.0)).sqrt(), p, differences })
}

/// The percentile interval of sorted differences, interpolated as numpy's `quantile` does.
pub fn percentile_interval(sorted: &[f64], confidence: f64) -> Option<Interval> {
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let below = (place.floor() as usize).min(last);
        let above = (below + 1).min(last);
        sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
    };
    let outside = 0.5 * (1.0 - confidence);
    Some(Interval { low: at(outside), high: at(1.0 - outside) })
}
