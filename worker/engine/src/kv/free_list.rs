//! Free tokens of an arena: pure, first fit.
//!
//! Invariant: holes do not touch each other, so that the largest is as large as can be.

use std::collections::BTreeMap;

/// Free runs of tokens: the first token of each, and its length.
#[derive(Debug, Default)]
pub(super) struct FreeList(BTreeMap<usize, usize>);

impl FreeList {
    /// Returns a list in which all of `tokens` are free.
    pub(super) fn new(tokens: usize) -> Self {
        Self((tokens > 0).then_some((0, tokens)).into_iter().collect())
    }

    /// Takes the first run of `tokens` that is free, and returns its first token.
    pub(super) fn take(&mut self, tokens: usize) -> Option<usize> {
        let (&start, &length) = self.0.iter().find(|&(_, &length)| length >= tokens)?;
        self.0.remove(&start);
        if length > tokens {
            self.0.insert(start + tokens, length - tokens);
        }
        Some(start)
    }

    /// Takes the run of `tokens` from `start` on, if all of it is free; returns whether it was.
    pub(super) fn take_at(&mut self, start: usize, tokens: usize) -> bool {
        let Some((&hole, &length)) = self.0.range(..=start).next_back() else { return false };
        let (end, hole_end) = (start + tokens, hole + length);
        if end > hole_end {
            return false;
        }
        self.0.remove(&hole);
        if hole < start {
            self.0.insert(hole, start - hole);
        }
        if end < hole_end {
            self.0.insert(end, hole_end - end);
        }
        true
    }

    /// Number of tokens that are free.
    pub(super) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Frees a run that was taken.
    pub(super) fn give_back(&mut self, mut start: usize, mut tokens: usize) {
        if let Some((&before, &length)) = self.0.range(..start).next_back()
            && before + length == start
        {
            self.0.remove(&before);
            (start, tokens) = (before, tokens + length);
        }
        if let Some(length) = self.0.remove(&(start + tokens)) {
            tokens += length;
        }
        self.0.insert(start, tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fit_and_freed_runs_join() {
        let mut list = FreeList::new(100);
        assert_eq!((list.take(30), list.take(30), list.take(30), list.take(11)), (Some(0), Some(30), Some(60), None));
        list.give_back(30, 30);
        assert_eq!((list.take(10), list.take(21), list.take(20)), (Some(30), None, Some(40)), "the first that fits");
        list.give_back(30, 10);
        list.give_back(60, 30);
        list.give_back(40, 20);
        list.give_back(0, 30);
        assert_eq!(list.take(100), Some(0), "all holes are one again");
        assert_eq!(FreeList::new(0).take(1), None);
    }

    #[test]
    fn a_run_is_taken_where_it_is_free() {
        let mut list = FreeList::new(100);
        assert!(list.take_at(20, 30) && list.take_at(50, 10) && !list.take_at(10, 11) && !list.take_at(59, 2));
        assert!(!list.take_at(90, 11) && list.take_at(0, 5) && list.take_at(90, 10));
        assert_eq!((list.total(), list.take(16), list.take(30), list.take(15)), (45, Some(60), None, Some(5)));
    }
}
