//! How many grants to hold ahead of those that run, so that no slot waits for the network.
//!
//! A grant that ends is followed by one that is here already; the one after that is a round trip away, and what it takes until
//! the master counts the old one as done. So what is ahead must last as long as that: with short grants or a far master it
//! is more than one. Pure; times in milliseconds.

use super::grants::GrantKey;
use std::collections::BTreeMap;

/// A round trip that is no delay worth speaking of.
const NEAR_MS: f64 = 20.0;
/// From a sample's end to its way to the master (results travel in batches), and from there to the disk.
const HAND_IN_MS: f64 = 60.0;
/// Weight of the latest among what is averaged.
const LATEST: f64 = 0.25;
/// Most grants ahead, by slot: what a worker holds, others wait for.
const MOST_AHEAD: u32 = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    begun: BTreeMap<GrantKey, u64>,
    grant_ms: Option<f64>,
    round_trip_ms: Option<f64>,
}

fn average(known: &mut Option<f64>, latest: f64) {
    *known = Some(known.map_or(latest, |known| known + LATEST * (latest - known)));
}

impl Pace {
    /// The first pack of a grant went to a slot.
    pub(super) fn begun(&mut self, grant: GrantKey, now_ms: u64) {
        self.begun.entry(grant).or_insert(now_ms);
    }

    /// A grant is over.
    pub(super) fn over(&mut self, grant: GrantKey, now_ms: u64) {
        if let Some(begun) = self.begun.remove(&grant) {
            average(&mut self.grant_ms, now_ms.saturating_sub(begun) as f64);
        }
    }

    /// A grant left before it was over, or got another name: it says nothing.
    pub(super) fn forget(&mut self, keep: impl Fn(&GrantKey) -> bool) {
        self.begun.retain(|grant, _| keep(grant));
    }

    /// A heartbeat was answered.
    pub(super) fn answered(&mut self, sent_ms: u64, now_ms: u64) {
        average(&mut self.round_trip_ms, now_ms.saturating_sub(sent_ms) as f64);
    }

    /// Grants to hold beyond one for each of `slots`.
    pub(super) fn ahead(&self, slots: u32) -> u32 {
        let far = self.round_trip_ms.unwrap_or(0.0) - NEAR_MS;
        let Some(grant_ms) = self.grant_ms.filter(|_| far > 0.0 && slots > 0) else { return 1 };
        // Until then every slot ends so many grants.
        let ended = (far + NEAR_MS + HAND_IN_MS) / grant_ms.max(1.0) * f64::from(slots);
        1 + (ended.ceil() as u32).min(MOST_AHEAD.saturating_mul(slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_common::ids::{Attempt, Epoch, TaskId};

    fn key(task: u32) -> GrantKey {
        GrantKey { epoch: Epoch(1), task: TaskId(task), attempt: Attempt(1) }
    }

    #[test]
    fn one_ahead_suffices_for_a_near_master_and_long_grants() {
        let mut pace = Pace::default();
        assert_eq!(pace.ahead(4), 1);
        pace.begun(key(1), 0);
        pace.over(key(1), 1);
        pace.answered(0, 5);
        assert_eq!(pace.ahead(4), 1, "a near master");
        let mut pace = Pace::default();
        pace.begun(key(1), 0);
        pace.over(key(1), 60_000);
        pace.answered(0, 200);
        assert_eq!(pace.ahead(1), 2, "a long grant: one round trip more than covers it");
    }

    #[test]
    fn what_is_ahead_lasts_a_round_trip_and_is_bounded() {
        let mut pace = Pace::default();
        for task in 0..20 {
            pace.begun(key(task), 1_000);
            pace.begun(key(task), 1_050);
            pace.over(key(task), 1_100);
            pace.answered(1_000, 1_400);
        }
        // Grants of 100 ms in 460 ms: 4.6 for each slot.
        assert_eq!((pace.ahead(1), pace.ahead(2)), (6, 11));
        pace.begun(key(50), 0);
        pace.forget(|_| false);
        pace.over(key(50), 1_000_000);
        assert_eq!(pace.ahead(1), 6, "what was forgotten does not count");
        for _ in 0..50 {
            pace.answered(0, 60_000);
        }
        assert_eq!(pace.ahead(2), 17);
    }
}
