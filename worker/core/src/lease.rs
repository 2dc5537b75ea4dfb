//! Until when this worker may start samples, by its own clock.
//!
//! Pure: times are milliseconds of a clock that never goes back. A deadline counts from when a heartbeat was *sent*, so
//! that it lies before the master's own whatever the network did, with a fifth of the lease to spare.

/// The lease under which samples are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lease {
    ttl_ms: u64,
    deadline_ms: u64,
}

impl Lease {
    /// The master welcomed the hello sent at `sent_ms` and leases for `ttl_ms` at a time from now on.
    pub(super) fn granted(&mut self, sent_ms: u64, ttl_ms: u32) {
        self.ttl_ms = u64::from(ttl_ms);
        self.renewed(sent_ms);
    }

    /// The master acknowledged the heartbeat sent at `sent_ms`; a late answer to an old one changes nothing.
    pub(super) fn renewed(&mut self, sent_ms: u64) {
        self.deadline_ms = self.deadline_ms.max(sent_ms + self.ttl_ms * 4 / 5);
    }

    /// Whether a sample may be started. What has begun may be finished and handed in at any time.
    pub(super) fn may_start(&self, now_ms: u64) -> bool {
        now_ms < self.deadline_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_starts_before_a_welcome() {
        assert!(!Lease::default().may_start(0));
    }

    #[test]
    fn the_deadline_lies_a_fifth_before_the_masters_and_counts_from_sending() {
        let mut lease = Lease::default();
        lease.granted(1_000, 30_000);
        assert!(lease.may_start(24_999));
        assert!(!lease.may_start(25_000));
        lease.renewed(6_000);
        assert!(lease.may_start(29_999));
        assert!(!lease.may_start(30_000));
    }

    #[test]
    fn late_answers_never_shorten_it_and_a_renewal_revives_it() {
        let mut lease = Lease::default();
        lease.granted(0, 10_000);
        lease.renewed(5_000);
        lease.renewed(2_000);
        assert!(lease.may_start(12_999));
        assert!(!lease.may_start(13_000));
        lease.renewed(20_000);
        assert!(lease.may_start(20_001));
    }
}
