//! Limit on concurrent sequences: by efficiency and by memory.

use crate::blocks::KvCache;

/// Maximum number of concurrent sequences if memory allows. Matrix products of fewer than 16 rows are padded anyway; up
/// to twice as many still cost less per row, since the weights are read once for all of them.
const DEFAULT_SLOTS: usize = 32;

/// Divisor of the memory available when the first slot is made, which slots may use: weights are mapped and count as
/// available, and several engines share a machine.
const PART_OF_MEMORY: usize = 4;

/// Limits on one model's slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    slots: usize,
    /// Size of keys and values; at least one slot is allowed whatever its size.
    bytes: usize,
}

impl Budget {
    /// Creates limits of `most` slots, 0 for the default number, and the fraction of `free` bytes.
    pub(super) fn new(most: usize, free: usize) -> Self {
        let slots = if most == 0 { DEFAULT_SLOTS } else { most };
        Self { slots, bytes: free / PART_OF_MEMORY }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Halves the number of slots; returns `false` if there is only one.
    pub(super) fn halve(&mut self) -> bool {
        let more = self.slots > 1;
        self.slots = (self.slots / 2).max(1);
        more
    }

    /// Whether another slot for `room` tokens is allowed besides `caches`.
    pub(super) fn allows(&self, caches: &[KvCache], room: usize) -> bool {
        let Some(first) = caches.first() else { return true };
        let held: usize = caches.iter().map(KvCache::capacity).sum();
        caches.len() < self.slots && (held + room) * per_token(first) <= self.bytes
    }

    /// Whether the cache at index `which` may be replaced by one for `room` tokens.
    pub(super) fn allows_in_place(&self, caches: &[KvCache], which: usize, room: usize) -> bool {
        let others = caches.iter().enumerate().filter(|(number, _)| *number != which);
        let held: usize = others.map(|(_, cache)| cache.capacity()).sum();
        (held + room) * caches.first().map_or(0, per_token) <= self.bytes
    }
}

/// Bytes of one token's keys and values in all layers.
fn per_token(cache: &KvCache) -> usize {
    cache.bytes() / cache.capacity().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn memory_limits_all_slots_but_the_first() {
        // Two layers of keys and values of one head of width 4 in f32: 64 bytes per token.
        let cache = |room| KvCache::new(2, 1, room, 4, (Kind::Float, Device::Cpu)).unwrap();
        let mut budget = Budget { slots: 3, bytes: 6400 };
        assert!(budget.allows(&[], 1_000_000));
        let caches = [cache(60), cache(30)];
        assert!(budget.allows(&caches, 10) && !budget.allows(&caches, 11));
        assert!(budget.allows_in_place(&caches, 1, 40) && !budget.allows_in_place(&caches, 1, 41));
        assert!(!budget.allows(&[cache(1), cache(1), cache(1)], 1));
        assert!(budget.halve() && budget.slots() == 1 && !budget.halve());
    }
}
