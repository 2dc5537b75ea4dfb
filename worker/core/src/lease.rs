//! The worker's lease: until when it may start samples, by its own clock.
//!
//! Pure: times are milliseconds of a monotonic clock. A deadline counts from when a heartbeat was *sent*, so that it
//! precedes the master's own whatever the network does, with a fifth of the lease to spare.

/// The lease under which samples are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lease {
    ttl_ms: u64,
    deadline_ms: u64,
}

impl Lease {
    /// Starts a lease of `ttl_ms`, since the master welcomed the hello sent at `sent_ms`.
    pub(super) fn granted(&mut self, sent_ms: u64, ttl_ms: u32) {
        self.ttl_ms = u64::from(ttl_ms);
        self.renewed(sent_ms);
    }

    /// Renews the lease from `sent_ms`, when the acknowledged heartbeat was sent; a late acknowledgement has no effect.
    pub(super) fn renewed(&mut self, sent_ms: u64) {
        self.deadline_ms = self.deadline_ms.max(sent_ms + self.ttl_ms * 4 / 5);
    }

    /// Returns whether a sample may start. Started samples may finish and be sent at any time.
    pub(super) fn may_start(&self, now_ms: u64) -> bool {
        now_ms < self.deadline_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sample_starts_before_a_welcome() {
        assert!(!Lease::default().may_start(0));
    }

    #[test]
    fn deadline_counts_from_sending_and_precedes_the_masters() {
        let mut lease = Lease::default();
        lease.granted(1_000, 30_000);
        assert!(lease.may_start(24_999));
        assert!(!lease.may_start(25_000));
        lease.renewed(6_000);
        assert!(lease.may_start(29_999));
        assert!(!lease.may_start(30_000));
    }

    #[test]
    fn late_answers_have_no_effect_and_a_renewal_revives_the_lease() {
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
