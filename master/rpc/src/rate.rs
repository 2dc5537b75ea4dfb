//! Limit on how often unauthenticated peers may ask: a bucket for each address that fills again with time, and one for
//! all of them.
//!
//! Pure: time is an argument, in milliseconds.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Asked at once from one address; a pool behind NAT is one address.
const BURST: f64 = 200.0;
/// And in the long run, per second.
const PER_SECOND: f64 = 20.0;
/// The same for all addresses together.
const BURST_OF_ALL: f64 = 1_000.0;
const PER_SECOND_OF_ALL: f64 = 200.0;
/// Addresses remembered; a full bucket need not be.
const MOST: usize = 10_000;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at_ms: u64,
}

/// Token buckets of unauthenticated peers: one for each address and one for all.
#[derive(Debug)]
pub(super) struct Rate {
    all: Bucket,
    each: BTreeMap<IpAddr, Bucket>,
}

impl Bucket {
    fn fill(&mut self, now_ms: u64, burst: f64, per_second: f64) {
        let passed = now_ms.saturating_sub(self.at_ms) as f64 / 1000.0;
        self.left = (self.left + passed * per_second).min(burst);
        self.at_ms = now_ms;
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self { all: Bucket { left: BURST_OF_ALL, at_ms: 0 }, each: BTreeMap::new() }
    }
}

impl Rate {
    /// Returns whether the address may ask now; if so, it has.
    pub(super) fn take(&mut self, address: IpAddr, now_ms: u64) -> bool {
        self.all.fill(now_ms, BURST_OF_ALL, PER_SECOND_OF_ALL);
        if self.each.len() >= MOST {
            self.each.values_mut().for_each(|bucket| bucket.fill(now_ms, BURST, PER_SECOND));
            self.each.retain(|_, bucket| bucket.left < BURST);
        }
        if self.each.len() >= MOST && !self.each.contains_key(&address) {
            return false;
        }
        let bucket = self.each.entry(address).or_insert(Bucket { left: BURST, at_ms: now_ms });
        bucket.fill(now_ms, BURST, PER_SECOND);
        if self.all.left < 1.0 || bucket.left < 1.0 {
            return false;
        }
        self.all.left -= 1.0;
        bucket.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    #[test]
    fn one_address_has_its_burst_and_then_its_rate_and_others_go_on() {
        let mut rate = Rate::default();
        let taken = |rate: &mut Rate, of: u32, now| (0..300).filter(|_| rate.take(address(of), now)).count();
        assert_eq!(taken(&mut rate, 1, 0), 200);
        assert_eq!(taken(&mut rate, 1, 1_000), 20);
        assert_eq!(taken(&mut rate, 2, 1_000), 200);
        assert_eq!(taken(&mut rate, 1, 3_600_000), 200);
    }

    #[test]
    fn all_addresses_together_have_a_rate_too_and_memory_is_bounded() {
        let mut rate = Rate::default();
        let taken = (0..50_000).filter(|&n| rate.take(address(n), 0)).count();
        assert_eq!(taken, 1_000);
        assert!(rate.each.len() <= MOST);
        assert!((0..50_000).filter(|&n| rate.take(address(n + 60_000), 60_000)).count() >= 1_000);
    }
}
