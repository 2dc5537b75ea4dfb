//! Histograms for `/metrics` of the time that things take.

use compass_progress::Latencies;
use compass_scheduler::{ConnectionId, Seq};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// Submissions that are timed at once; of more only these are.
const MOST: usize = 10_000;

/// Things that are under way, with the times since when.
#[derive(Debug, Default)]
pub(super) struct Timing {
    pub latencies: Latencies,
    /// Submissions that were handed over to become durable, and when.
    submitted: VecDeque<(Seq, Instant)>,
    /// Connections whose workers have room, and since when.
    asking: BTreeMap<ConnectionId, Instant>,
}

impl Timing {
    /// Records up to this one were handed over to become durable.
    pub(crate) fn submitted(&mut self, seq: Seq, now: Instant) {
        if self.submitted.len() < MOST && self.submitted.back().is_none_or(|(last, _)| *last < seq) {
            self.submitted.push_back((seq, now));
        }
    }

    /// Records up to this one are durable.
    pub(crate) fn durable(&mut self, up_to: Seq, now: Instant) {
        while let Some((_, since)) = self.submitted.front().copied().filter(|(seq, _)| *seq <= up_to) {
            self.submitted.pop_front();
            self.latencies.commit.observe(now.duration_since(since).as_secs_f64(), 1);
        }
    }

    /// The worker of a connection has room for more.
    pub(crate) fn asks(&mut self, connection: ConnectionId, now: Instant) {
        self.asking.entry(connection).or_insert(now);
    }

    /// A task leaves for it.
    pub(crate) fn granted(&mut self, connection: ConnectionId, now: Instant) {
        if let Some(since) = self.asking.remove(&connection) {
            self.latencies.grant.observe(now.duration_since(since).as_secs_f64(), 1);
        }
    }

    /// The connection is over.
    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        self.asking.remove(&connection);
    }

    /// An engine took a number of seconds for a number of samples.
    pub(crate) fn ran(&mut self, samples: u64, seconds: f64) {
        if samples > 0 && seconds.is_finite() && seconds >= 0.0 {
            self.latencies.sample.observe(seconds / samples as f64, samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_progress::Histogram;
    use std::time::Duration;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    fn counted(histogram: &Histogram) -> Vec<(f64, u64)> {
        histogram.buckets().into_iter().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn what_is_under_way_is_counted_when_it_ends() {
        let (mut timing, start) = (Timing::default(), Instant::now());
        timing.submitted(Seq(3), start);
        timing.submitted(Seq(3), at(start, 5));
        timing.submitted(Seq(5), at(start, 10));
        timing.durable(Seq(4), at(start, 20));
        assert_eq!(counted(&timing.latencies.commit), [(0.03, 1)]);
        timing.durable(Seq(5), at(start, 2_010));
        assert_eq!(counted(&timing.latencies.commit), [(0.03, 1), (3.0, 1)]);
        assert!((timing.latencies.commit.sum - 2.02).abs() < 1e-9);

        let (one, two) = (ConnectionId(1), ConnectionId(2));
        timing.asks(one, start);
        timing.asks(one, at(start, 50));
        timing.asks(two, start);
        timing.closed(two);
        timing.granted(two, at(start, 100));
        timing.granted(one, at(start, 100));
        timing.granted(one, at(start, 900));
        assert_eq!(counted(&timing.latencies.grant), [(0.1, 1)], "from the first word to the first task");
        timing.asks(one, at(start, 1_000));
        timing.granted(one, at(start, 1_090));
        assert_eq!(counted(&timing.latencies.grant), [(0.1, 2)], "and again once it has room again");

        timing.ran(4, 8.0);
        timing.ran(0, 8.0);
        timing.ran(1, f64::NAN);
        timing.ran(1, 1e9);
        assert_eq!(counted(&timing.latencies.sample), [(3.0, 4), (f64::INFINITY, 1)]);
    }
}
