//! Rate of a stage of late: measured over a window of the last minutes, from which the end is foretold.
//!
//! The rate since the start would tell of the loading of weights for as long as the run lasts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length of the window.
const WINDOW: Duration = Duration::from_secs(120);
/// Least time between two counts that are kept; so the window holds a bounded number of them.
const APART: Duration = Duration::from_secs(1);

/// Counts of the last minutes.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Oldest first. The first one lies at the edge of the window, or is the start.
    counts: VecDeque<(Instant, u64)>,
}

impl Pace {
    /// A stage that begins with `already` samples.
    pub fn new(now: Instant, already: u64) -> Self {
        Self { counts: VecDeque::from([(now, already)]) }
    }

    /// Takes note of how many samples are through.
    pub fn count(&mut self, now: Instant, samples: u64) {
        let is_due = self.counts.back().is_none_or(|(at, _)| now.duration_since(*at) >= APART);
        if is_due {
            self.counts.push_back((now, samples));
        }
        // The one before the window begins is needed to know what happened since.
        while self.counts.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.counts.pop_front();
        }
    }

    /// Nothing can run: the time until something does is part of no rate.
    pub fn wait(&mut self, now: Instant, samples: u64) {
        self.counts.clear();
        self.counts.push_back((now, samples));
    }

    /// Takes note of them and says how many there were in a second, of late.
    pub fn rate_with(&mut self, now: Instant, samples: u64) -> f64 {
        self.count(now, samples);
        self.rate(now, samples)
    }

    /// Samples in a second, of late; `samples` are through now.
    pub fn rate(&self, now: Instant, samples: u64) -> f64 {
        let Some((at, before)) = self.counts.front() else { return 0.0 };
        samples.saturating_sub(*before) as f64 / now.duration_since(*at).as_secs_f64().max(1e-3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_minutes() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start, 100);
        assert_eq!(pace.rate(after(10), 100), 0.0);
        // Five minutes of loading, then ten samples in a second.
        for second in 1..=300 {
            pace.count(after(second), 100);
        }
        for second in 301..=600 {
            pace.count(after(second), 100 + (second - 300) * 10);
        }
        assert_eq!(pace.rate(after(600), 3_100), 10.0);
        assert!(pace.counts.len() <= 122, "{} counts are kept", pace.counts.len());
    }

    #[test]
    fn a_wait_for_workers_is_no_part_of_the_rate() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start, 0);
        pace.count(after(1), 50);
        for second in 2..=60 {
            pace.wait(after(second), 50);
            assert_eq!(pace.rate(after(second), 50), 0.0, "nothing runs");
        }
        assert_eq!(pace.rate_with(after(64), 90), 10.0);
    }

    #[test]
    fn what_is_counted_often_is_kept_seldom() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 0);
        for tick in 1..=1_000_u64 {
            pace.count(start + Duration::from_millis(tick * 10), tick);
        }
        assert!(pace.counts.len() <= 11);
        assert_eq!(pace.rate(start + Duration::from_secs(10), 1_000), 100.0);
    }
}
