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
}
