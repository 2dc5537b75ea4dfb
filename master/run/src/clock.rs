//! The clock that leases are counted by: it runs only while the master pays attention.
//!
//! A master that was stopped, or that waited for a disk, heard no worker meanwhile. Were that time counted, every worker
//! would look silent beyond its lease, and all that they hold would be granted again. A master's clock may run slow
//! without harm, because a worker counts its own deadline.

use std::time::{Duration, Instant};

/// Longest time between two looks that counts in full, in milliseconds: several ticks of the driver.
const LONGEST_STEP_MS: u64 = 1_000;

/// Clock that stands still while the master does not listen.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentiveClock {
    last: Instant,
    now_ms: u64,
}

impl AttentiveClock {
    /// A clock that shows zero at `now`.
    pub(crate) fn start(now: Instant) -> Self {
        Self { last: now, now_ms: 0 }
    }

    /// Milliseconds of attention up to `now`.
    pub(super) fn now_ms(&mut self, now: Instant) -> u64 {
        let step = now.saturating_duration_since(self.last).as_millis() as u64;
        if step > LONGEST_STEP_MS {
            self.last = now;
        } else {
            // What is below a millisecond stays for the next look.
            self.last += Duration::from_millis(step);
        }
        self.now_ms += step.min(LONGEST_STEP_MS);
        self.now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nobody_listened_does_not_count() {
        let start = Instant::now();
        let mut clock = AttentiveClock::start(start);
        let mut at = start;
        let mut look = |micros| {
            at += Duration::from_micros(micros);
            clock.now_ms(at)
        };
        assert_eq!((look(250_000), look(250_000)), (250, 500));
        assert_eq!(look(40_000_000), 1_500, "stopped for 40 s");
        assert_eq!(look(250_000), 1_750);
        let last = (0..10).map(|_| look(1_900)).last();
        assert_eq!(last, Some(1_769), "fractions of a millisecond add up");
    }
}
