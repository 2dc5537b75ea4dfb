//! Prompts that wait for a slot, in the order in which they are begun.
//!
//! The longest first, so that room is reserved once and the short ones fill the gaps at the end; but prompts that begin
//! alike stay together, while what they share is in place. The order has no influence on any number.

use super::prompt::Prompt;
use crate::models::CausalLm;
use std::collections::{HashMap, VecDeque};

/// A prompt to be continued.
#[derive(Clone, Debug)]
pub(crate) struct Ask<T> {
    pub(super) prompt: Prompt,
    most: usize,
    pub(super) who: T,
}

impl<T> Ask<T> {
    /// A prompt of `who` with its structural borders, to be continued by at most `most` tokens, at least 1.
    pub(crate) fn new(ids: &[u32], borders: &[usize], most: usize, who: T) -> Self {
        Self { prompt: Prompt::new(ids, borders), most, who }
    }

    /// The same, cut as the model allows.
    pub(super) fn cut_for(self, model: &dyn CausalLm) -> Self {
        if model.shares_prefixes(self.prompt.len()) {
            return self;
        }
        Self { prompt: Prompt::whole(self.prompt.ids()), ..self }
    }

    /// Tokens that its slot must hold; the last one generated is never fed back.
    pub(super) fn room(&self) -> usize {
        self.prompt.len() + self.most.saturating_sub(1)
    }
}

/// The waiting.
#[derive(Debug)]
pub(super) struct Queue<T>(VecDeque<Ask<T>>);

impl<T> Queue<T> {
    /// Puts `asks` in order.
    pub(super) fn new(mut asks: Vec<Ask<T>>) -> Self {
        asks.sort_by_key(|ask| std::cmp::Reverse(ask.room()));
        let mut groups: HashMap<Vec<u32>, usize> = HashMap::new();
        for ask in &asks {
            let next = groups.len();
            groups.entry(ask.prompt.beginning().to_vec()).or_insert(next);
        }
        asks.sort_by_key(|ask| groups.get(ask.prompt.beginning()).copied());
        Self(asks.into())
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lets asks go before all others: they go on with what was just computed.
    pub(super) fn push_front(&mut self, asks: Vec<Ask<T>>) {
        for ask in asks.into_iter().rev() {
            self.0.push_front(ask);
        }
    }

    /// The waiting one at a place in the order.
    pub(super) fn get(&self, place: usize) -> Option<&Ask<T>> {
        self.0.get(place)
    }

    /// Takes it.
    pub(super) fn remove(&mut self, place: usize) -> Option<Ask<T>> {
        self.0.remove(place)
    }

    /// Drops those that nobody wants any more.
    pub(super) fn retain(&mut self, wanted: impl FnMut(&Ask<T>) -> bool) {
        self.0.retain(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_first_and_alike_beginnings_together() {
        let ask = |who: &'static str, first: u32, length: usize, most| Ask::new(&vec![first; length], &[], most, who);
        let asks =
            vec![ask("a", 1, 70, 1), ask("b", 2, 90, 9), ask("c", 1, 100, 9), ask("d", 2, 80, 40), ask("e", 3, 5, 1)];
        let queue = Queue::new(asks);
        assert_eq!(queue.0.iter().map(|ask| ask.who).collect::<Vec<_>>(), ["d", "b", "c", "a", "e"]);
        assert_eq!(queue.get(0).map(Ask::room), Some(119));
    }
}
