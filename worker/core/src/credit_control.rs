//! Number of grants to hold ahead of running ones, so that no slot waits for the network.
//!
//! A finished grant is followed by one that the worker holds already; the next one takes a round trip, and the time
//! until the master counts the old one as done. The grants held ahead must last that long: with short grants or a
//! distant master, one is not enough. Pure; times in milliseconds.

use compass_types::ids::GrantId;
use std::collections::BTreeMap;

/// Round trip below which one grant ahead suffices.
const NEAR_MS: f64 = 20.0;
/// Time from a sample's end until its result is sent (results travel in batches) and durable at the master.
const COMMIT_MS: f64 = 60.0;
/// Weight of the latest value in the moving averages.
const LATEST: f64 = 0.25;
/// Maximum number of grants ahead per slot: what a worker holds is not available to others.
const MAX_AHEAD: u32 = 8;

/// Controls the number of grants to hold ahead of running ones.
#[derive(Debug, Default)]
pub(super) struct CreditControl {
    begun: BTreeMap<GrantId, u64>,
    grant_ms: Option<f64>,
    round_trip_ms: Option<f64>,
}

fn average(known: &mut Option<f64>, latest: f64) {
    *known = Some(known.map_or(latest, |known| known + LATEST * (latest - known)));
}

impl CreditControl {
    /// Notes that the first batch of a grant went to a slot.
    pub(super) fn started(&mut self, grant: GrantId, now_ms: u64) {
        self.begun.entry(grant).or_insert(now_ms);
    }

    /// Notes that a grant is finished.
    pub(super) fn finished(&mut self, grant: GrantId, now_ms: u64) {
        if let Some(begun) = self.begun.remove(&grant) {
            average(&mut self.grant_ms, now_ms.saturating_sub(begun) as f64);
        }
    }

    /// Drops grants that were returned before they finished, or renamed: their duration is unknown.
    pub(super) fn forget(&mut self, keep: impl Fn(&GrantId) -> bool) {
        self.begun.retain(|grant, _| keep(grant));
    }

    /// Notes that a heartbeat was acknowledged.
    pub(super) fn answered(&mut self, sent_ms: u64, now_ms: u64) {
        average(&mut self.round_trip_ms, now_ms.saturating_sub(sent_ms) as f64);
    }

    /// Returns how many grants to hold beyond one for each of `slots`.
    pub(super) fn ahead(&self, slots: u32) -> u32 {
        let far = self.round_trip_ms.unwrap_or(0.0) - NEAR_MS;
        let Some(grant_ms) = self.grant_ms.filter(|_| far > 0.0 && slots > 0) else { return 1 };
        // Number of grants that all slots finish in that time.
        let ended = (far + NEAR_MS + COMMIT_MS) / grant_ms.max(1.0) * f64::from(slots);
        1 + (ended.ceil() as u32).min(MAX_AHEAD.saturating_mul(slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(task: u32) -> GrantId {
        GrantId::new(1, task, 1)
    }

    #[test]
    fn one_ahead_suffices_for_a_near_master_or_long_grants() {
        let mut credit = CreditControl::default();
        assert_eq!(credit.ahead(4), 1);
        credit.started(key(1), 0);
        credit.finished(key(1), 1);
        credit.answered(0, 5);
        assert_eq!(credit.ahead(4), 1, "a near master");
        let mut credit = CreditControl::default();
        credit.started(key(1), 0);
        credit.finished(key(1), 60_000);
        credit.answered(0, 200);
        assert_eq!(credit.ahead(1), 2, "a long grant: one round trip more than covers it");
    }

    #[test]
    fn grants_ahead_last_a_round_trip_and_are_bounded() {
        let mut credit = CreditControl::default();
        for task in 0..20 {
            credit.started(key(task), 1_000);
            credit.started(key(task), 1_050);
            credit.finished(key(task), 1_100);
            credit.answered(1_000, 1_400);
        }
        // Grants of 100 ms in 460 ms: 4.6 for each slot.
        assert_eq!((credit.ahead(1), credit.ahead(2)), (6, 11));
        credit.started(key(50), 0);
        credit.forget(|_| false);
        credit.finished(key(50), 1_000_000);
        assert_eq!(credit.ahead(1), 6, "forgotten grants do not count");
        for _ in 0..50 {
            credit.answered(0, 60_000);
        }
        assert_eq!(credit.ahead(2), 17);
    }

    /// Counts the gaps of `slots` between their first and last grant, in virtual time: grants last `grant_ms`, a
    /// message takes `one_way_ms`, results are sent after `commit_ms`, and the master uses the worker's credit at once.
    fn gaps(slots: u32, grant_ms: u64, one_way_ms: u64, commit_ms: u64, wanted: impl Fn(&CreditControl) -> u32) -> u32 {
        const GRANTS: u32 = 200;
        let (mut credit, mut granted, mut gaps) = (CreditControl::default(), 0, 0);
        // Arrivals of grants at the worker, and times at which slots are free.
        let mut coming: Vec<u64> = Vec::new();
        let mut free: Vec<u64> = vec![0; slots as usize];
        // The master's view of the worker, with the time of arrival: its credit, and the grants that have ended.
        let mut told: Vec<(u64, u32)> = vec![(0, wanted(&credit))];
        let mut ended: Vec<u64> = Vec::new();
        let (mut begun, mut now) = (0_u32, 0_u64);
        while begun < GRANTS {
            let wants = told.iter().filter(|(at, _)| *at <= now).map(|(_, wants)| *wants).next_back().unwrap_or(0);
            let over = ended.iter().filter(|at| **at <= now).count() as u32;
            while granted < GRANTS && granted - over < wants {
                coming.push(now + one_way_ms);
                granted += 1;
            }
            for slot in &mut free {
                if *slot <= now && !coming.is_empty() && coming[0] <= now {
                    coming.remove(0);
                    gaps += u32::from(begun >= slots && *slot < now);
                    credit.started(key(begun), now);
                    credit.finished(key(begun), now + grant_ms);
                    (*slot, begun) = (now + grant_ms, begun + 1);
                    ended.push(*slot + commit_ms + one_way_ms);
                }
            }
            if now % 500 == 0 {
                credit.answered(now, now + 2 * one_way_ms);
                told.push((now + 3 * one_way_ms, wanted(&credit)));
            }
            now += 1;
        }
        gaps
    }

    #[test]
    fn slots_do_not_wait_for_a_distant_master() {
        for (slots, grant_ms, one_way_ms, commit_ms) in [
            (1, 128, 100, 10),
            (1, 64, 100, 60),
            (2, 64, 100, 60),
            (4, 100, 150, 60),
            (3, 40, 25, 30),
            (8, 300, 200, 60),
        ] {
            let what = format!("{slots} slots, grants of {grant_ms} ms, {one_way_ms} ms one way");
            let with_control = gaps(slots, grant_ms, one_way_ms, commit_ms, |credit| slots + credit.ahead(slots));
            let one_ahead = gaps(slots, grant_ms, one_way_ms, commit_ms, |_| slots + 1);
            // One grant ahead is all until the first heartbeat is acknowledged and the new credit has an effect.
            let learning = (500 + 4 * one_way_ms).div_ceil(grant_ms) as u32 * slots;
            assert!(with_control <= learning, "{what}: {with_control} gaps, of which {learning} while learning");
            assert!(one_ahead >= 50, "{what}: one ahead would suffice, with {one_ahead} gaps of 200");
        }
    }
}
