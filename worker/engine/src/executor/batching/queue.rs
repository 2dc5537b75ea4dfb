//! Prompts that are pending for a slot, in the order in which they start.
//!
//! The longest come first, so that memory is reserved once and the short ones fill the gaps at the end; but prompts with the
//! same prefix stay together, while the prefix is in a cache. The order has no influence on any number.

use super::prompt::TokenPrompt;
use crate::models::CausalLm;
use std::collections::{HashMap, VecDeque};

/// A prompt to be continued.
#[derive(Clone, Debug)]
pub(crate) struct SequenceRequest<T> {
    pub(super) prompt: TokenPrompt,
    max_tokens: usize,
    pub(super) id: T,
    /// Work on it before it went back to the queue.
    pub(super) before: Before,
}

/// Work on a sequence that has to begin again. It comes to the same tokens, so that it needs as much room again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// Number of its tokens, prompt included, that were computed and counted.
    pub(super) counted: usize,
    /// Number of tokens for which it had room, or wanted it.
    pub(super) room: usize,
}

/// Tokens that a slot must hold of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Tokens at its beginning.
    pub(super) least: usize,
    /// Tokens with its longest answer.
    pub(super) most: usize,
}

impl<T> SequenceRequest<T> {
    /// Returns a prompt with its structural borders, to be continued by at most `max_tokens` tokens, at least 1.
    pub(crate) fn new(ids: &[u32], borders: &[usize], max_tokens: usize, id: T) -> Self {
        Self { prompt: TokenPrompt::new(ids, borders), max_tokens, id, before: Before::default() }
    }

    /// Returns a prompt that several sequences continue: all of it is their header.
    pub(crate) fn of_several(ids: &[u32], borders: &[usize], max_tokens: usize, id: T) -> Self {
        let one = Self::new(ids, borders, max_tokens, id);
        Self { prompt: one.prompt.into_header(), ..one }
    }

    /// Returns the request with its prompt in one piece where the model cannot share prefixes, and without a header
    /// where it may have to compute the sequence again while it grows.
    pub(super) fn cut_for(self, model: &dyn CausalLm) -> Self {
        let prompt = match (model.shares_prefixes(self.prompt.len()), model.shares_prefixes(self.most())) {
            (true, true) => self.prompt,
            (true, false) => self.prompt.without_header(),
            (false, _) => TokenPrompt::whole(self.prompt.ids()),
        };
        Self { prompt, ..self }
    }

    /// Returns the most tokens that its slot must hold; the last one generated is never fed back.
    pub(super) fn most(&self) -> usize {
        self.prompt.len() + self.max_tokens.saturating_sub(1)
    }

    /// Returns the tokens that its slot must hold.
    pub(super) fn room(&self) -> Room {
        Room { least: self.before.room, most: self.most() }
    }
}

/// Pending sequences.
#[derive(Debug)]
pub(super) struct Queue<T>(VecDeque<SequenceRequest<T>>);

impl<T> Queue<T> {
    /// Returns a queue of `sequences` in the order in which they start.
    pub(super) fn new(mut sequences: Vec<SequenceRequest<T>>) -> Self {
        sequences.sort_by_key(|sequence| std::cmp::Reverse(sequence.most()));
        let mut groups: HashMap<Vec<u32>, usize> = HashMap::new();
        for sequence in &sequences {
            let next = groups.len();
            groups.entry(sequence.prompt.first_piece().to_vec()).or_insert(next);
        }
        sequences.sort_by_key(|sequence| groups.get(sequence.prompt.first_piece()).copied());
        Self(sequences.into())
    }

    /// Number of pending sequences.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts sequences after all others, in the order in which they start.
    pub(super) fn push_back(&mut self, sequences: Vec<SequenceRequest<T>>) {
        self.0.extend(Self::new(sequences).0);
    }

    /// Returns whether no sequence is pending.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts sequences before all others, since they continue what was just computed.
    pub(super) fn push_front(&mut self, sequences: Vec<SequenceRequest<T>>) {
        for sequence in sequences.into_iter().rev() {
            self.0.push_front(sequence);
        }
    }

    /// Returns the pending sequence at an index in the order.
    pub(super) fn get(&self, index: usize) -> Option<&SequenceRequest<T>> {
        self.0.get(index)
    }

    /// Removes the pending sequence at an index in the order.
    pub(super) fn remove(&mut self, index: usize) -> Option<SequenceRequest<T>> {
        self.0.remove(index)
    }

    /// Drops the sequences that are not needed any more.
    pub(super) fn retain(&mut self, wanted: impl FnMut(&SequenceRequest<T>) -> bool) {
        self.0.retain(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first_and_equal_prefixes_together() {
        let sequence = |id: &'static str, first: u32, length: usize, most| {
            SequenceRequest::new(&vec![first; length], &[], most, id)
        };
        let sequences = vec![
            sequence("a", 1, 70, 1),
            sequence("b", 2, 90, 9),
            sequence("c", 1, 100, 9),
            sequence("d", 2, 80, 40),
            sequence("e", 3, 5, 1),
        ];
        let queue = Queue::new(sequences);
        assert_eq!(queue.0.iter().map(|sequence| sequence.id).collect::<Vec<_>>(), ["d", "b", "c", "a", "e"]);
        assert_eq!(queue.get(0).map(SequenceRequest::most), Some(119));
    }
}
