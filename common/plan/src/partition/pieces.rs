//! Cuts a set of samples by position and packs pieces into tasks.

use super::TaskSpec;
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;

/// Hands out the indices of a set from the first on, so many at a time.
pub(super) struct Cursor<'a> {
    pairs: &'a [(u32, u32)],
    /// Number of indices of the first pair that are gone.
    used: u32,
    left: u32,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(set: &'a IntervalSet) -> Self {
        Self { pairs: set.pairs(), used: 0, left: set.len() }
    }

    /// Indices not handed out yet.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// The next `count` indices, or as many as are left.
    pub(super) fn take(&mut self, count: u32) -> IntervalSet {
        let mut wanted = count.min(self.left);
        self.left -= wanted;
        let mut taken = Vec::new();
        while wanted > 0
            && let Some((&(first, end), rest)) = self.pairs.split_first()
        {
            let from = first + self.used;
            let run = wanted.min(end - from);
            taken.push((from, from + run));
            wanted -= run;
            if from + run == end {
                (self.pairs, self.used) = (rest, 0);
            } else {
                self.used += run;
            }
        }
        IntervalSet::from_pairs(taken)
    }
}

/// The set in runs of `step` positions; the last may be shorter.
pub(super) fn runs(set: &IntervalSet, step: u32) -> Vec<IntervalSet> {
    let mut cursor = Cursor::new(set);
    let mut runs = Vec::new();
    while cursor.left() > 0 {
        runs.push(cursor.take(step.max(1)));
    }
    runs
}

impl TaskSpec {
    /// Adds a piece; pieces of one unit become one.
    pub(super) fn add(&mut self, id: UnitId, set: &IntervalSet) {
        match self.pieces.iter_mut().find(|(unit, _)| *unit == id) {
            Some((_, held)) => *held = IntervalSet::from_pairs(held.pairs().iter().chain(set.pairs()).copied()),
            None => self.pieces.push((id, set.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_walk_over_holes() {
        let set = IntervalSet::from_pairs([(0, 3), (5, 6), (9, 12)]);
        let expected = [vec![(0, 2)], vec![(2, 3), (5, 6)], vec![(9, 11)], vec![(11, 12)]];
        assert_eq!(runs(&set, 2), expected.map(IntervalSet::from_pairs));
        assert!(runs(&IntervalSet::new(), 4).is_empty());
    }
}
