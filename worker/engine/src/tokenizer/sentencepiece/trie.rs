//! A byte trie: finds every entry that is a prefix of a text.

use std::collections::HashMap;

/// Maps byte strings to piece ids.
#[derive(Debug, Default)]
pub(super) struct PieceTrie {
    /// Next node by node and byte.
    edges: HashMap<(u32, u8), u32>,
    /// The id that ends at each node.
    ids: Vec<Option<u32>>,
}

impl PieceTrie {
    /// Creates a trie of the entries; a later one of the same text replaces an earlier one.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut trie = Self { edges: HashMap::new(), ids: vec![None] };
        for (text, id) in entries {
            let mut node = 0;
            for byte in text.bytes() {
                let fresh = trie.ids.len() as u32;
                node = *trie.edges.entry((node, byte)).or_insert(fresh);
                if node == fresh {
                    trie.ids.push(None);
                }
            }
            if let Some(place) = trie.ids.get_mut(node as usize) {
                *place = Some(id);
            }
        }
        trie
    }

    /// Calls `found` with the length in bytes and the id of every entry that `text` starts with, shortest first.
    pub(super) fn prefixes(&self, text: &[u8], mut found: impl FnMut(usize, u32)) {
        let mut node = 0;
        for (index, &byte) in text.iter().enumerate() {
            match self.edges.get(&(node, byte)) {
                Some(&next) => node = next,
                None => return,
            }
            if let Some(Some(id)) = self.ids.get(node as usize) {
                found(index + 1, *id);
            }
        }
    }

    /// Returns the length in bytes of the longest entry that `text` starts with.
    pub(super) fn longest(&self, text: &[u8]) -> Option<usize> {
        let mut longest = None;
        self.prefixes(text, |length, _| longest = Some(length));
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_and_the_longest_are_found() {
        let trie = PieceTrie::new([("a", 1), ("abc", 2), ("b", 3)].into_iter());
        let mut found = Vec::new();
        trie.prefixes(b"abcd", |length, id| found.push((length, id)));
        assert_eq!(found, [(1, 1), (3, 2)]);
        assert_eq!((trie.longest(b"abd"), trie.longest(b"x"), trie.longest(b"")), (Some(1), None, None));
    }
}
