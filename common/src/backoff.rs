//! Retries with full jitter: the wait before the n-th retry is drawn evenly from zero to `min * 2^n`, bounded by `max`.
//!
//! Full jitter spreads many workers that lost one master at one moment better than a fixed wait with a little noise
//! does (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). Built on `backon`, not on the crate
//! named `backoff`, which is no longer maintained (RUSTSEC-2025-0012). The errors decide what may be retried.

use backon::{BackoffBuilder, ExponentialBuilder};
use std::time::Duration;

/// Waits that double from `min` up to `max`, each drawn with full jitter; it never ends, the caller bounds the tries
/// (`.take(n)`) or the time.
///
/// Pass it to [`backon::Retryable::retry`], or iterate it.
pub fn policy(min: Duration, max: Duration) -> FullJitter {
    FullJitter::over(doubling(min, max).with_jitter(), doubling(min, max))
}

/// As [`policy`], with waits that depend on nothing but the arguments: for simulations.
pub fn seeded_policy(min: Duration, max: Duration, seed: u64) -> FullJitter {
    FullJitter::over(doubling(min, max).with_jitter().with_jitter_seed(seed), doubling(min, max))
}

fn doubling(min: Duration, max: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(min.min(max)).with_max_delay(max).with_factor(2.0).without_max_times()
}

/// An endless iterator of waits; it is its own [`BackoffBuilder`].
#[derive(Debug)]
pub struct FullJitter {
    noisy: <ExponentialBuilder as BackoffBuilder>::Backoff,
    plain: <ExponentialBuilder as BackoffBuilder>::Backoff,
}

impl FullJitter {
    fn over(noisy: ExponentialBuilder, plain: ExponentialBuilder) -> Self {
        Self { noisy: noisy.build(), plain: plain.build() }
    }
}

impl Iterator for FullJitter {
    type Item = Duration;

    /// `backon` jitters upwards, to `d + d * u` with `u` in [0, 1); what exceeds `d` is the full jitter.
    fn next(&mut self) -> Option<Duration> {
        let noisy = self.noisy.next()?;
        Some(noisy.saturating_sub(self.plain.next()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_secs(2);

    #[test]
    fn waits_stay_below_the_doubling_bound() {
        for seed in 0..50 {
            for (n, wait) in seeded_policy(MIN, MAX, seed).take(12).enumerate() {
                let bound = (MIN * 2u32.pow(n as u32)).min(MAX);
                assert!(wait <= bound, "try {n} of seed {seed} waits {wait:?}, more than {bound:?}");
            }
        }
    }

    #[test]
    fn waits_cover_the_lower_half_too() {
        let short = (0..200).filter_map(|seed| seeded_policy(MIN, MAX, seed).nth(3)).filter(|wait| *wait < MIN * 4);
        let count = short.count();
        assert!((60..140).contains(&count), "{count} of 200 waits lie in the lower half");
    }

    #[test]
    fn a_seed_repeats_and_a_least_wait_above_the_most_is_bounded() {
        let waits = |seed| seeded_policy(MIN, MAX, seed).take(6).collect::<Vec<_>>();
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
        assert!(policy(MAX * 10, MAX).take(20).all(|wait| wait <= MAX));
    }
}
