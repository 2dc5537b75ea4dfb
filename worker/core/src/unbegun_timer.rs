//! The time in which no slot begins what the worker holds.

/// Time between two steps that counts at most: more, and the process was stopped.
const STEP_MS: u64 = 1_000;

/// Timer of the time in which no slot begins what the worker holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnbegunTimer {
    waited_ms: u64,
    seen_ms: u64,
}

impl UnbegunTimer {
    /// Returns for how long samples have waited without a reason.
    pub(super) fn observe(&mut self, is_waiting: bool, now_ms: u64) -> u64 {
        let passed = now_ms.saturating_sub(self.seen_ms).min(STEP_MS);
        self.waited_ms = if is_waiting { self.waited_ms + passed } else { 0 };
        self.seen_ms = now_ms;
        self.waited_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_without_a_reason_counts_and_none_in_which_the_process_was_stopped() {
        let mut timer = UnbegunTimer::default();
        assert_eq!(timer.observe(true, 500), 500);
        assert_eq!(timer.observe(true, 1_000), 1_000);
        assert_eq!(timer.observe(true, 90_000), 1_000 + STEP_MS, "stopped for 89 s");
        assert_eq!(timer.observe(false, 90_500), 0);
        assert_eq!(timer.observe(true, 91_000), 500);
    }
}
