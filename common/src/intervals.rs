//! Sets of sample indices as sorted, disjoint, half-open intervals: what a task, a grant and a reservation hold.

use serde::{Deserialize, Serialize};

/// A set of `u32` held as sorted, disjoint, non-adjacent half-open intervals `[first, end)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IntervalSet(Vec<(u32, u32)>);

impl IntervalSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The indices `first..end`.
    pub fn range(first: u32, end: u32) -> Self {
        Self(if first < end { vec![(first, end)] } else { Vec::new() })
    }

    /// Normalises arbitrary pairs: sorts, drops empty ones, joins those that touch or overlap.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().filter(|(first, end)| first < end).collect();
        pairs.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(pairs.len());
        for (first, end) in pairs {
            match joined.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((first, end)),
            }
        }
        Self(joined)
    }

    /// The set of the given indices, in any order.
    pub fn from_indices(indices: impl IntoIterator<Item = u32>) -> Self {
        Self::from_pairs(indices.into_iter().map(|index| (index, index + 1)))
    }

    /// The intervals, sorted.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// The indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(first, end)| first..end)
    }

    /// How many indices the set holds.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|(first, end)| end - first).sum()
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `index` is in the set.
    pub fn contains(&self, index: u32) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= index);
        after > 0 && index < self.0[after - 1].1
    }

    /// Adds one index; returns whether it was new.
    pub fn insert(&mut self, index: u32) -> bool {
        let at = self.0.partition_point(|&(first, _)| first <= index);
        if at > 0 && index < self.0[at - 1].1 {
            return false;
        }
        let joins_left = at > 0 && self.0[at - 1].1 == index;
        let joins_right = at < self.0.len() && self.0[at].0 == index + 1;
        match (joins_left, joins_right) {
            (true, true) => {
                self.0[at - 1].1 = self.0[at].1;
                self.0.remove(at);
            }
            (true, false) => self.0[at - 1].1 += 1,
            (false, true) => self.0[at].0 -= 1,
            (false, false) => self.0.insert(at, (index, index + 1)),
        }
        true
    }

    /// Removes one index; returns whether it was there.
    pub fn remove(&mut self, index: u32) -> bool {
        if !self.contains(index) {
            return false;
        }
        let at = self.0.partition_point(|&(first, _)| first <= index) - 1;
        let (first, end) = self.0[at];
        self.0.splice(at..=at, [(first, index), (index + 1, end)].into_iter().filter(|(first, end)| first < end));
        true
    }

    /// The indices of `self` that are not in `other`.
    pub fn minus(&self, other: &Self) -> Self {
        let mut out = Vec::new();
        let mut cuts = other.0.iter().peekable();
        for &(mut first, end) in &self.0 {
            while cuts.peek().is_some_and(|cut| cut.1 <= first) {
                cuts.next();
            }
            let mut ahead = cuts.clone();
            while let Some(&&(cut_first, cut_end)) = ahead.peek() {
                if cut_first >= end {
                    break;
                }
                if first < cut_first {
                    out.push((first, cut_first));
                }
                first = first.max(cut_end);
                ahead.next();
            }
            if first < end {
                out.push((first, end));
            }
        }
        Self(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(start in proptest::collection::btree_set(0u32..60, 0..40),
                                   other in proptest::collection::btree_set(0u32..60, 0..40),
                                   edits in proptest::collection::vec((any::<bool>(), 0u32..60), 0..60)) {
            let mut model: BTreeSet<u32> = start;
            let mut set = IntervalSet::from_indices(model.iter().copied());
            for (add, index) in edits {
                if add {
                    prop_assert_eq!(set.insert(index), model.insert(index));
                } else {
                    prop_assert_eq!(set.remove(index), model.remove(&index));
                }
                prop_assert_eq!(&IntervalSet::from_indices(model.iter().copied()), &set);
            }
            prop_assert_eq!(set.len() as usize, model.len());
            for index in 0..61 {
                prop_assert_eq!(set.contains(index), model.contains(&index));
            }
            let minus = set.minus(&IntervalSet::from_indices(other.iter().copied()));
            prop_assert_eq!(minus.iter().collect::<Vec<_>>(), model.difference(&other).copied().collect::<Vec<_>>());
        }
    }
}
