//! Idle time of slots during a run: the cost of a distant master. Pure; times in milliseconds.

/// Meter of the idle time of slots between the first grant and the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdleTimeMeter {
    /// Slot-milliseconds with work.
    busy_ms: u64,
    /// Slot-milliseconds without work that were followed by work.
    idle_ms: u64,
    /// Number of times that a slot was idle and then got work.
    gaps: u32,
    /// Slot-milliseconds of the current idle time: whether work follows is not known yet.
    pending_ms: u64,
    idle_slots: u32,
    last_ms: Option<u64>,
}

impl IdleTimeMeter {
    /// Notes how many of the slots in use are busy now.
    pub(super) fn observe(&mut self, busy: u32, active: u32, now_ms: u64) {
        let idle = active.saturating_sub(busy);
        if let Some(last) = self.last_ms {
            let passed = now_ms.saturating_sub(last);
            self.busy_ms += passed * u64::from(active.saturating_sub(self.idle_slots));
            self.pending_ms += passed * u64::from(self.idle_slots);
        } else if busy == 0 {
            return;
        }
        if idle < self.idle_slots {
            self.gaps += self.idle_slots - idle;
            self.idle_ms += std::mem::take(&mut self.pending_ms);
        }
        (self.idle_slots, self.last_ms) = (idle, Some(now_ms));
    }

    /// Returns slot-milliseconds with work, those without, and the number of gaps.
    pub(super) fn sum(&self) -> (u64, u64, u32) {
        (self.busy_ms, self.idle_ms, self.gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_counts_when_work_follows() {
        let mut seen = IdleTimeMeter::default();
        seen.observe(0, 2, 0);
        seen.observe(2, 2, 1_000);
        assert_eq!(seen.sum(), (0, 0, 0), "idle time before the first grant does not count");
        seen.observe(1, 2, 2_000);
        assert_eq!(seen.sum(), (2_000, 0, 0));
        seen.observe(2, 2, 2_100);
        assert_eq!(seen.sum(), (2_100, 100, 1));
        seen.observe(0, 2, 3_000);
        seen.observe(0, 2, 9_000);
        assert_eq!(seen.sum(), (3_900, 100, 1), "idle time after the last grant does not count");
    }
}
