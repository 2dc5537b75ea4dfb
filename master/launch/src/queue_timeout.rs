//! The timeout that tells whether a pool is stuck in its queue. Pure: times are milliseconds that never go back.
//!
//! A pool whose oldest waiting job has waited for as long as its queue timeout lasts, while no other started, is stuck until one
//! starts.
//! One that gave up all that it had in the queue tries again after twice that time, and then waits for longer before it
//! gives up again: two queues of which neither moves must not take turns in losing their places.

use super::job_table::Count;

/// QueueTimeout of a pool whose jobs start.
const FIRST_MS: u64 = 60_000;
/// The longest: what a pool holds in a queue that does not move, others get after that time at the latest.
const LONGEST_MS: u64 = 3_600_000;

/// Record of how long the jobs of a pool have been in its queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueTimeout {
    lasts_ms: u64,
    running: u32,
    started: u64,
    stuck_since: Option<u64>,
}

impl Default for QueueTimeout {
    fn default() -> Self {
        Self { lasts_ms: FIRST_MS, running: 0, started: 0, stuck_since: None }
    }
}

impl QueueTimeout {
    /// Returns whether a pool whose jobs have these states is stuck.
    pub(super) fn is_over(&mut self, now: u64, count: &Count) -> bool {
        let has_started = count.running > self.running;
        self.running = count.running;
        let waits = count.longest_wait.min(now.saturating_sub(self.started));
        match self.stuck_since {
            _ if has_started => *self = Self { running: count.running, started: now, ..Self::default() },
            None if count.queued > 0 && waits >= self.lasts_ms => self.stuck_since = Some(now),
            Some(since) if count.queued == 0 && now >= since.saturating_add(2 * self.lasts_ms) => {
                (self.lasts_ms, self.stuck_since) = ((2 * self.lasts_ms).min(LONGEST_MS), None);
            }
            _ => {}
        }
        self.stuck_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(queued: u32, running: u32, longest_wait: u64) -> Count {
        Count { queued, running, longest_wait, ..Count::default() }
    }

    #[test]
    fn it_ends_when_nothing_starts_for_a_while() {
        let mut queue_timeout = QueueTimeout::default();
        assert!(!queue_timeout.is_over(0, &count(4, 2, 0)) && !queue_timeout.is_over(59_999, &count(4, 2, 59_999)));
        assert!(queue_timeout.is_over(60_000, &count(4, 2, 60_000)));
        assert!(queue_timeout.is_over(61_000, &count(4, 1, 0)), "that one ended is no start");
        assert!(!queue_timeout.is_over(62_000, &count(3, 2, 62_000)), "one has started");
        assert!(!queue_timeout.is_over(121_999, &count(3, 2, 121_999)), "a queue that moves is waited for");
        assert!(queue_timeout.is_over(122_000, &count(3, 2, 122_000)));
        assert!(queue_timeout.is_over(900_000, &count(3, 2, 900_000)));
    }

    #[test]
    fn after_giving_up_every_pool_it_tries_again_and_waits_longer() {
        let (mut queue_timeout, mut now) = (QueueTimeout::default(), 0);
        let mut waits = Vec::new();
        for _ in 0..9 {
            let mut wait = 0;
            while !queue_timeout.is_over(now + wait, &count(1, 0, wait)) {
                wait += 1_000;
            }
            waits.push(wait / 1_000);
            now += wait;
            assert!(queue_timeout.is_over(now + wait, &count(0, 0, 0)), "not at once");
            now += 2 * wait;
            assert!(!queue_timeout.is_over(now, &count(0, 0, 0)));
        }
        assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
        assert!(!queue_timeout.is_over(now, &count(0, 1, 0)), "one starts");
        assert!(!queue_timeout.is_over(now + 59_999, &count(1, 1, 59_999)));
        assert!(queue_timeout.is_over(now + 60_000, &count(1, 1, 60_000)), "that restored it");
    }
}
