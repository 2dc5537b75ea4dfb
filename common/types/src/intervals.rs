//! Sets of sample indices as sorted, disjoint, half-open intervals: what a task, a grant and a reservation hold.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of `u32` held as sorted, disjoint, non-adjacent half-open intervals `[first, end)`.
///
/// Intervals that are read from outside must be sorted, disjoint and not adjacent: otherwise the file or the peer is damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u32)>")]
pub struct IntervalSet(Vec<(u32, u32)>);

/// Intervals that are empty, out of order, or touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalError {
    first: u32,
    end: u32,
}

impl fmt::Display for IntervalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, end } = self;
        write!(f, "intervals must be sorted, apart and not empty, and {first}..{end} is not")
    }
}

impl std::error::Error for IntervalError {}

impl TryFrom<Vec<(u32, u32)>> for IntervalSet {
    type Error = IntervalError;

    fn try_from(pairs: Vec<(u32, u32)>) -> Result<Self, IntervalError> {
        let mut after = None;
        for &(first, end) in &pairs {
            if first >= end || after.is_some_and(|after| first <= after) {
                return Err(IntervalError { first, end });
            }
            after = Some(end);
        }
        Ok(Self(pairs))
    }
}

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

    /// Returns the number of indices in the set.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|(first, end)| end - first).sum()
    }

    /// Returns whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `index` is in the set.
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
        let (first, end) = &mut self.0[at];
        match (index == *first, index + 1 == *end) {
            (true, true) => drop(self.0.remove(at)),
            (true, false) => *first += 1,
            (false, true) => *end -= 1,
            (false, false) => {
                let rest = (index + 1, std::mem::replace(end, index));
                self.0.insert(at + 1, rest);
            }
        }
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

    #[test]
    fn only_what_this_writes_is_read() {
        let set = IntervalSet::from_pairs([(5, 9), (0, 3)]);
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text, "[[0,3],[5,9]]");
        assert_eq!(serde_json::from_str::<IntervalSet>(&text).unwrap(), set);
        for damaged in ["[[3,3]]", "[[5,4]]", "[[0,3],[3,5]]", "[[4,6],[0,2]]", "[[0,5],[2,7]]"] {
            let error = serde_json::from_str::<IntervalSet>(damaged).unwrap_err().to_string();
            assert!(error.starts_with("intervals must be sorted, apart and not empty"), "{damaged}: {error}");
        }
    }
}
