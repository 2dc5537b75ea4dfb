//! The autoscaler: how many jobs each pool is to have. Pure.
//!
//! A pool wants as many slots as there are open tasks of models that it takes, less those that workers of elsewhere offer
//! already. Bounds are filled in the order of the pools. What was ordered, or may still run, counts against the bounds of
//! the whole job until it is known to be gone: the sum never exceeds them, whatever the launchers are slow to tell.

/// Bounds of the whole job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Replica slots of all pools; `None` is no bound.
    pub slots: Option<u32>,
    /// GPUs of all pools; `None` is no bound.
    pub gpus: Option<u32>,
}

/// What is known of a pool.
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
    /// What was ordered last.
    pub(super) ordered: u32,
    /// Whether it may launch nothing now, after failures.
    pub(super) paused: bool,
    /// Open tasks that its workers could take and nobody from elsewhere does.
    pub(super) wanted: u32,
}

impl PoolState {
    /// With what was ordered last, which the pool may not have reported yet.
    pub(super) fn ordered_last(self, ordered: u32) -> Self {
        Self { ordered, ..self }
    }
}

/// How many jobs each pool is to have.
pub(super) fn targets(pools: &[PoolState], bounds: Bounds) -> Vec<u32> {
    let reserved = |pool: &PoolState| pool.live.max(pool.ordered);
    let mut held: Vec<u32> = pools.iter().map(reserved).collect();
    let mut targets = Vec::with_capacity(pools.len());
    for (at, pool) in pools.iter().enumerate() {
        let others = |unit: fn(&PoolState) -> u32| -> u32 {
            let each = pools.iter().zip(&held).enumerate().filter(|(other, _)| *other != at);
            each.map(|(_, (pool, held))| held.saturating_mul(unit(pool))).fold(0, u32::saturating_add)
        };
        let room = |bound: Option<u32>, unit: fn(&PoolState) -> u32| match (bound, unit(pool)) {
            (None, _) | (_, 0) => u32::MAX,
            (Some(bound), unit_of_pool) => bound.saturating_sub(others(unit)) / unit_of_pool,
        };
        let room = room(bounds.slots, |pool| pool.slots.max(1)).min(room(bounds.gpus, |pool| pool.gpus));
        let wanted = pool.wanted.div_ceil(pool.slots.max(1));
        let mut target = wanted.clamp(pool.least.min(pool.most), pool.most).min(room);
        if pool.paused {
            target = target.min(pool.live);
        }
        if let Some(held) = held.get_mut(at) {
            *held = target.max(pool.live);
        }
        targets.push(target);
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(wanted: u32, live: u32) -> PoolState {
        PoolState { gpus: 1, slots: 1, least: 0, most: 100, live, ordered: live, paused: false, wanted }
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

    fn any_pool() -> impl Strategy<Value = PoolState> {
        let numbers = (0u32..5, 1u32..9, 0u32..4, 0u32..40, 0u32..20, 0u32..20);
        (numbers, any::<bool>(), 0u32..100).prop_map(|((gpus, slots, least, most, live, ordered), paused, wanted)| {
            PoolState { gpus, slots, least, most, live, ordered, paused, wanted }
        })
    }

    /// What may run at the same time at most.
    fn held(pools: &[PoolState], targets: &[u32], unit: impl Fn(&PoolState) -> u32) -> u32 {
        pools.iter().zip(targets).map(|(pool, target)| pool.live.max(*target) * unit(pool)).sum()
    }

    proptest! {
        #[test]
        fn no_bound_is_exceeded(mut pools in proptest::collection::vec(any_pool(), 1..5), gpus in 0u32..60, slots in 1u32..60) {
            let bounds = Bounds { gpus: Some(gpus), slots: Some(slots) };
            // From nothing through any history of orders, of which launchers carry out what they like.
            pools.iter_mut().for_each(|pool| (pool.live, pool.ordered) = (0, 0));
            for round in 0..8u32 {
                let ordered = targets(&pools, bounds);
                prop_assert!(held(&pools, &ordered, |pool| pool.gpus) <= gpus);
                prop_assert!(held(&pools, &ordered, |pool| pool.slots) <= slots);
                for (at, (pool, target)) in pools.iter_mut().zip(ordered).enumerate() {
                    prop_assert!(target <= pool.most);
                    prop_assert!(!pool.paused || target <= pool.live, "a paused pool launches nothing");
                    pool.ordered = target;
                    pool.live = match (round + at as u32) % 3 {
                        0 => pool.live.max(target),
                        1 => pool.live,
                        _ => pool.live / 2,
                    };
                    pool.wanted = pool.wanted.wrapping_mul(7).wrapping_add(round) % 100;
                    pool.paused = pool.wanted.is_multiple_of(5);
                }
            }
        }

        #[test]
        fn nobody_waits_where_there_is_room(pool in any_pool()) {
            let alone = targets(&[PoolState { live: 0, ordered: 0, paused: false, ..pool }], Bounds::default());
            let expected = pool.wanted.div_ceil(pool.slots).min(pool.most);
            prop_assert!(alone[0] >= expected);
            prop_assert!(alone[0] <= expected.max(pool.least));
        }
    }
}
