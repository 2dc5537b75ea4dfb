//! The autoscaler: how many jobs each pool is to have. Pure.
//!
//! A pool wants as many slots as there are open tasks of models that it takes, less those that workers of elsewhere offer
//! already. Bounds are filled in the order of the pools. What was ordered, or may still run, counts against the bounds of
//! the whole job until it is known to be gone: the sum never exceeds them, whatever the launchers are slow to tell.
//!
//! A pool that is stuck in its queue comes last, and gives up of what waits there as much as the others prove that they can
//! start: one job first, then as many again as run. So a place in a queue is not lost to a queue that is no shorter.

/// Bounds of the whole job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Replica slots of all pools; `None` is no bound.
    pub slots: Option<u32>,
    /// GPUs of all pools; `None` is no bound.
    pub gpus: Option<u32>,
}

/// Facts that are known of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PoolState {
    /// GPUs of one job.
    pub(super) gpus: u32,
    /// Replica slots of one job, at least 1.
    pub(super) slots: u32,
    /// Jobs that stay, idle or not.
    pub(super) least: u32,
    /// Jobs at most.
    pub(super) most: u32,
    /// Jobs that wait or run, those that are asked to end included.
    pub(super) live: u32,
    /// Jobs of these that run.
    pub(super) running: u32,
    /// Number of jobs that was ordered last.
    pub(super) ordered: u32,
    /// Set if it may launch nothing now, after failures.
    pub(super) paused: bool,
    /// Set if the jobs in its queue have waited for too long.
    pub(super) stuck: bool,
    /// Open tasks that its workers could take and no other pool's do.
    pub(super) wanted: u32,
}

impl PoolState {
    /// With what was ordered last, which the pool may not have reported yet.
    pub(super) fn ordered_last(self, ordered: u32) -> Self {
        Self { ordered, ..self }
    }

    /// With whether it is stuck in its queue.
    pub(super) fn stuck(self, stuck: bool) -> Self {
        Self { stuck, ..self }
    }

    /// Jobs that it would have without bounds.
    fn wish(&self) -> u32 {
        let wanted = self.wanted.div_ceil(self.slots.max(1));
        let wish = wanted.clamp(self.least.min(self.most), self.most);
        if self.paused { wish.min(self.live) } else { wish }
    }

    /// Returns the number of jobs of another pool's that it may have beyond the `target` that there is room for: it is to prove that
    /// it can start them.
    fn may_ask_for(&self, target: u32) -> u32 {
        let waiting = self.reserved().max(target).saturating_sub(self.running);
        self.wish().saturating_sub(target).min(self.running.max(1).saturating_sub(waiting))
    }

    /// Jobs that may be there, or come.
    fn reserved(&self) -> u32 {
        self.live.max(self.ordered)
    }
}

/// Quantity that a bound counts, of one job of a pool.
type Unit = fn(&PoolState) -> u32;

/// Returns the number of jobs that each pool is to have.
pub(super) fn targets(pools: &[PoolState], bounds: Bounds) -> Vec<u32> {
    let slots: Unit = |pool| pool.slots.max(1);
    let gpus: Unit = |pool| pool.gpus;
    let bounds: Vec<(u32, Unit)> = [(bounds.slots, slots), (bounds.gpus, gpus)]
        .into_iter()
        .filter_map(|(bound, unit)| Some((bound?, unit)))
        .collect();
    let mut held: Vec<u32> = pools.iter().map(PoolState::reserved).collect();
    let mut targets = vec![0; pools.len()];
    // Of each bound, what those lack that are not stuck.
    let mut lacking = vec![0_u32; bounds.len()];
    let in_turn = |stuck: bool| pools.iter().enumerate().filter(move |(_, pool)| pool.stuck == stuck);
    for (at, pool) in in_turn(false).chain(in_turn(true)) {
        // What the others leave of a bound.
        let left = |&(bound, unit): &(u32, Unit)| -> u32 {
            let others = pools.iter().zip(&held).enumerate().filter(|(other, _)| *other != at);
            let each = others.map(|(_, (pool, held))| held.saturating_mul(unit(pool)));
            bound.saturating_sub(each.fold(0, u32::saturating_add))
        };
        let room = bounds.iter().filter(|(_, unit)| unit(pool) > 0).map(|bound| left(bound) / bound.1(pool)).min();
        let mut target = pool.wish().min(room.unwrap_or(u32::MAX));
        if pool.stuck {
            let enough = bounds.iter().zip(&lacking).filter(|((_, unit), _)| unit(pool) > 0);
            let enough = enough.map(|((_, unit), lacking)| lacking.div_ceil(unit(pool))).max().unwrap_or(0);
            let given = enough.min(target.saturating_sub(pool.running));
            target -= given;
            for ((_, unit), lacking) in bounds.iter().zip(&mut lacking) {
                *lacking = lacking.saturating_sub(given.saturating_mul(unit(pool)));
            }
        } else {
            // Of each bound: what is left beside the target, and what the stuck could give and was not asked for before.
            let spare = |bound: &(u32, Unit)| left(bound).saturating_sub(target.saturating_mul(bound.1(pool)));
            let given = |&(_, unit): &(u32, Unit)| -> u32 {
                let each = in_turn(true).map(|(_, pool)| {
                    pool.reserved().min(pool.wish()).saturating_sub(pool.running).saturating_mul(unit(pool))
                });
                each.fold(0, u32::saturating_add)
            };
            let in_reach =
                bounds.iter().zip(&lacking).filter(|((_, unit), _)| unit(pool) > 0).map(|(bound, lacking)| {
                    spare(bound).saturating_add(given(bound).saturating_sub(*lacking)) / bound.1(pool)
                });
            let asked = pool.may_ask_for(target).min(in_reach.min().unwrap_or(0));
            for (bound, lacking) in bounds.iter().zip(&mut lacking) {
                *lacking += asked.saturating_mul(bound.1(pool)).saturating_sub(spare(bound));
            }
        }
        if let (Some(held), Some(slot)) = (held.get_mut(at), targets.get_mut(at)) {
            (*held, *slot) = (target.max(pool.live), target);
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(wanted: u32, live: u32) -> PoolState {
        let (gpus, slots, least, most, running, ordered) = (1, 1, 0, 100, live, live);
        PoolState { gpus, slots, least, most, live, running, ordered, paused: false, stuck: false, wanted }
    }

    #[test]
    fn bounds_are_filled_in_the_order_of_the_pools() {
        let gpus = |gpus| Bounds { gpus: Some(gpus), slots: None };
        assert_eq!(targets(&[pool(10, 0), pool(10, 0)], gpus(12)), [10, 2]);
        assert_eq!(targets(&[pool(10, 0), pool(10, 5)], gpus(12)), [7, 5], "what may still run counts");
        assert_eq!(targets(&[PoolState { slots: 4, ..pool(10, 0) }], Bounds::default()), [3]);
        assert_eq!(targets(&[PoolState { gpus: 0, ..pool(10, 0) }], gpus(1)), [10], "no GPU, no bound of GPUs");
        assert_eq!(targets(&[PoolState { least: 2, ..pool(0, 2) }], Bounds::default()), [2]);
        let paused = PoolState { paused: true, ..pool(10, 3) };
        assert_eq!(targets(&[paused, pool(10, 0)], gpus(12)), [3, 9], "others take what a paused one cannot use");
    }

    /// A queue that moves not at all, before one that starts what it is given in the next round.
    fn rounds(mut stuck: PoolState, mut other: PoolState, gpus: u32) -> Vec<(u32, u32)> {
        let bounds = Bounds { gpus: Some(gpus), slots: None };
        let round = |_| {
            let ordered = targets(&[stuck, other], bounds);
            let after = |pool: &PoolState, target: u32| pool.live.max(target);
            assert!(after(&stuck, ordered[0]) * stuck.gpus + after(&other, ordered[1]) * other.gpus <= gpus);
            other.running = other.live;
            (stuck.live, stuck.ordered) = (ordered[0], ordered[0]);
            (other.live, other.ordered) = (ordered[1], ordered[1]);
            (stuck.live, other.live)
        };
        (0..12).map(round).collect()
    }

    #[test]
    fn what_is_stuck_in_a_queue_goes_to_who_can_start_it() {
        let queued = PoolState { running: 0, stuck: true, ..pool(12, 12) };
        let seen = rounds(queued, pool(8, 0), 12);
        assert_eq!(seen[..2], [(11, 0), (11, 1)], "one job first, once its room is free");
        assert_eq!(seen.last(), Some(&(4, 8)), "all that it wants, in a few rounds: {seen:?}");
        let seen = rounds(PoolState { running: 5, ..queued }, pool(40, 0), 12);
        assert_eq!(seen.last(), Some(&(5, 7)), "what runs stays: {seen:?}");
        let seen = rounds(PoolState { live: 1, ordered: 1, ..queued }, PoolState { gpus: 2, ..pool(9, 0) }, 3);
        assert_eq!(seen.last(), Some(&(1, 1)), "there was room for it: {seen:?}");
        let seen = rounds(PoolState { gpus: 4, live: 2, ordered: 2, ..queued }, pool(9, 0), 8);
        assert_eq!(seen.last(), Some(&(0, 8)), "jobs of several GPUs: {seen:?}");
    }

    #[test]
    fn a_place_in_a_queue_is_kept_where_nobody_proves_to_be_faster() {
        let gpus = |pools: &[PoolState]| targets(pools, Bounds { gpus: Some(12), slots: None });
        let queued = PoolState { running: 0, stuck: true, ..pool(12, 11) };
        let trying = PoolState { running: 0, ..pool(12, 1) };
        assert_eq!(gpus(&[queued, trying]), [11, 1], "the first that it was given waits yet");
        assert_eq!(gpus(&[queued, PoolState { stuck: true, ..trying }]), [11, 1], "nor is its queue shorter");
        assert_eq!(gpus(&[queued, PoolState { paused: true, ..trying }]), [11, 1], "it cannot launch");
        assert_eq!(gpus(&[queued, pool(1, 1)]), [11, 1], "it has what it wants");
        let free = PoolState { stuck: true, live: 0, running: 0, ordered: 0, ..pool(5, 0) };
        assert_eq!(gpus(&[free, pool(9, 0)]), [3, 9], "who is stuck comes last");
    }

    fn any_pool() -> impl Strategy<Value = PoolState> {
        let numbers = (0u32..5, 1u32..9, 0u32..4, 0u32..40, 0u32..20, 0u32..20);
        (numbers, any::<(bool, bool)>(), 0u32..100).prop_map(
            |((gpus, slots, least, most, live, ordered), (paused, stuck), wanted)| {
                let running = live / 2;
                PoolState { gpus, slots, least, most, live, running, ordered, paused, stuck, wanted }
            },
        )
    }

    /// Returns the most that may run at the same time.
    fn held(pools: &[PoolState], targets: &[u32], unit: impl Fn(&PoolState) -> u32) -> u32 {
        pools.iter().zip(targets).map(|(pool, target)| pool.live.max(*target) * unit(pool)).sum()
    }

    proptest! {
        #[test]
        fn no_bound_is_exceeded(mut pools in proptest::collection::vec(any_pool(), 1..5), gpus in 0u32..60, slots in 1u32..60) {
            let bounds = Bounds { gpus: Some(gpus), slots: Some(slots) };
            // From nothing through any history of orders, of which launchers carry out what they like.
            pools.iter_mut().for_each(|pool| (pool.live, pool.running, pool.ordered) = (0, 0, 0));
            for round in 0..8u32 {
                let ordered = targets(&pools, bounds);
                prop_assert!(held(&pools, &ordered, |pool| pool.gpus) <= gpus);
                prop_assert!(held(&pools, &ordered, |pool| pool.slots) <= slots);
                for (at, (pool, target)) in pools.iter_mut().zip(ordered).enumerate() {
                    prop_assert!(target <= pool.most);
                    prop_assert!(!pool.paused || target <= pool.live, "a paused pool launches nothing");
                    let kept = pool.running.min(pool.wish());
                    prop_assert!(!pool.stuck || target >= kept, "what runs is not given up");
                    pool.ordered = target;
                    pool.live = match (round + at as u32) % 3 {
                        0 => pool.live.max(target),
                        1 => pool.live,
                        _ => pool.live / 2,
                    };
                    pool.running = pool.running.min(pool.live).max(pool.live / (1 + round % 3));
                    pool.stuck = pool.wanted.is_multiple_of(3);
                    pool.wanted = pool.wanted.wrapping_mul(7).wrapping_add(round) % 100;
                    pool.paused = pool.wanted.is_multiple_of(5);
                }
            }
        }

        #[test]
        fn nobody_waits_where_there_is_room(pool in any_pool()) {
            let alone = targets(&[PoolState { live: 0, running: 0, ordered: 0, paused: false, ..pool }], Bounds::default());
            let expected = pool.wanted.div_ceil(pool.slots).min(pool.most);
            prop_assert!(alone[0] >= expected);
            prop_assert!(alone[0] <= expected.max(pool.least));
        }
    }
}
