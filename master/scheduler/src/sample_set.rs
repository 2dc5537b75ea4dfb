//! A set of sample indices that stays cheap however its members come: samples are recorded in any order, and a list of
//! runs would be moved about with every one of them.

use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Indices of a page: 64 words of 64.
const PAGE: u32 = 4096;

/// Set of sample indices, in pages of bits of which only those exist that hold something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SampleSet {
    pages: BTreeMap<u32, Box<[u64; 64]>>,
    len: u64,
}

fn place(index: u32) -> (u32, usize, u64) {
    (index / PAGE, (index % PAGE / 64) as usize, 1 << (index % 64))
}

impl SampleSet {
    /// Adds an index; returns whether it was new.
    pub(super) fn insert(&mut self, index: u32) -> bool {
        let (page, word, bit) = place(index);
        let word = &mut self.pages.entry(page).or_insert_with(|| Box::new([0; 64]))[word];
        let new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(new);
        new
    }

    pub(super) fn contains(&self, index: u32) -> bool {
        let (page, word, bit) = place(index);
        self.pages.get(&page).is_some_and(|words| words[word] & bit != 0)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The members as runs.
    pub(super) fn intervals(&self) -> IntervalSet {
        let members = self.pages.iter().flat_map(|(&page, words)| {
            let of_word = move |(at, &word): (usize, &u64)| {
                let first = page * PAGE + at as u32 * 64;
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
            };
            words.iter().enumerate().flat_map(of_word)
        });
        IntervalSet::from_indices(members)
    }
}

impl From<IntervalSet> for SampleSet {
    fn from(runs: IntervalSet) -> Self {
        let mut set = Self::default();
        for index in runs.iter() {
            set.insert(index);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(indices in proptest::collection::vec(0u32..9000, 0..200)) {
            let (mut set, mut model) = (SampleSet::default(), BTreeSet::new());
            for &index in &indices {
                prop_assert_eq!(set.insert(index), model.insert(index));
            }
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert!((0..9000).all(|index| set.contains(index) == model.contains(&index)));
            prop_assert_eq!(set.intervals(), IntervalSet::from_indices(model.iter().copied()));
            prop_assert_eq!(SampleSet::from(set.intervals()), set);
        }
    }
}
