//! Order in which a trie is computed, split into forward passes.
//!
//! Pure. Depth first, root by root: everything that follows one segment is computed together, and the segment is not needed
//! for longer.

use super::trie::Trie;

/// Remaining nodes.
#[derive(Debug)]
pub(super) struct Passes {
    nodes: Vec<usize>,
    at: usize,
}

impl Passes {
    /// Creates the order of all nodes that are not known already.
    pub(super) fn new(trie: &Trie, known: &[Option<usize>]) -> Self {
        let order = trie.roots.iter().flat_map(|&root| trie.subtree(root));
        Self { nodes: order.filter(|&node| known[node].is_none()).collect(), at: 0 }
    }

    /// The nodes that are left.
    pub(super) fn left(&self) -> &[usize] {
        self.nodes.get(self.at..).unwrap_or_default()
    }

    /// Returns the next nodes with at most `rows` tokens together, but at least one node; empty when all are computed.
    pub(super) fn next(&self, trie: &Trie, rows: usize) -> Vec<usize> {
        let mut taken = 0;
        let fit = self.left().iter().enumerate().take_while(|&(number, &node)| {
            taken += trie.nodes[node].tokens.len();
            number == 0 || taken <= rows
        });
        fit.map(|(_, &node)| node).collect()
    }

    /// Marks the next `count` nodes as computed.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Skips the next node and all nodes below it, and returns them.
    pub(super) fn skip_subtree(&mut self, trie: &Trie) -> Vec<usize> {
        let Some(&node) = self.left().first() else { return Vec::new() };
        let below = trie.subtree(node);
        self.nodes.retain(|node| !below.contains(node));
        below
    }
}

#[cfg(test)]
mod tests {
    use super::super::ScoringInput;
    use super::*;

    #[test]
    fn depth_first_without_what_is_known() {
        let mut trie = Trie::default();
        let text = |fed: &[u32], cuts: &[usize]| ScoringInput {
            fed: fed.to_vec(),
            first: 1,
            next: vec![0],
            cuts: cuts.to_vec(),
        };
        for (number, (fed, cuts)) in
            [(vec![1, 2, 3], vec![1]), (vec![1, 4, 5], vec![1, 2]), (vec![9], vec![]), (vec![1, 4, 6], vec![1, 2])]
                .into_iter()
                .enumerate()
        {
            trie.insert(number, &text(&fed, &cuts));
        }
        let known: Vec<Option<usize>> = (0..trie.nodes.len()).map(|node| [0, 2].contains(&node).then_some(7)).collect();
        let mut passes = Passes::new(&trie, &known);
        assert_eq!(passes.next(&trie, 99), [1, 3, 5, 4]);
        assert_eq!(passes.next(&trie, 3), [1, 3]);
        passes.advance(1);
        assert_eq!(passes.next(&trie, 0), [3], "at least one");
        assert_eq!(passes.skip_subtree(&trie), [3]);
        assert_eq!(passes.left(), [5, 4]);
        passes.advance(2);
        assert!(passes.next(&trie, 9).is_empty());
    }
}
