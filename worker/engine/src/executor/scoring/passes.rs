//! Order in which a trie is computed, split into forward passes.
//!
//! Pure. Depth first, root by root: the path above a node is then always on its stack.

use super::resident::StackAssignment;
use super::trie::Trie;

/// A node to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingNode {
    pub(super) node: usize,
    pub(super) stack: usize,
    /// Number of nodes above it on its path.
    pub(super) depth: usize,
}

/// Remaining nodes.
#[derive(Debug)]
pub(super) struct Passes {
    items: Vec<PendingNode>,
    at: usize,
}

impl Passes {
    /// Creates the order of all nodes that are not on their stack already.
    pub(super) fn new(trie: &Trie, assignments: &[StackAssignment]) -> Self {
        let of = |assignment: &StackAssignment| {
            let (stack, known) = (assignment.stack, assignment.known.clone());
            let order = trie.subtree(assignment.root, &known).into_iter();
            let new = order.filter(move |node| !known.contains(node));
            new.map(|node| PendingNode { node, stack, depth: trie.path(node).len() - 1 }).collect::<Vec<_>>()
        };
        Self { items: assignments.iter().flat_map(of).collect(), at: 0 }
    }

    /// Returns the next nodes with at most `rows` tokens together, but at least one node; empty when all are computed.
    pub(super) fn next(&self, trie: &Trie, rows: usize) -> Vec<PendingNode> {
        let mut taken = 0;
        let left = self.items.get(self.at..).unwrap_or_default().iter();
        let fit = left.enumerate().take_while(|(number, item)| {
            taken += trie.nodes[item.node].tokens.len();
            *number == 0 || taken <= rows
        });
        fit.map(|(_, item)| *item).collect()
    }

    /// Marks the next `count` nodes as computed.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Skips the next node and all nodes below it.
    pub(super) fn skip_subtree(&mut self, trie: &Trie) {
        let Some(item) = self.items.get(self.at) else { return };
        let below = trie.subtree(item.node, &[]);
        self.items.retain(|item| !below.contains(&item.node));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ScoringInput;
    use super::*;

    #[test]
    fn depth_first_with_resident_nodes_first() {
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
        let assignments = [
            StackAssignment { root: 0, stack: 1, known: vec![0, 2] },
            StackAssignment { root: 4, stack: 0, known: Vec::new() },
        ];
        let mut passes = Passes::new(&trie, &assignments);
        let nodes =
            |items: Vec<PendingNode>| items.iter().map(|item| (item.node, item.stack, item.depth)).collect::<Vec<_>>();
        assert_eq!(nodes(passes.next(&trie, 99)), [(3, 1, 2), (5, 1, 2), (1, 1, 1), (4, 0, 0)]);
        assert_eq!(nodes(passes.next(&trie, 3)), [(3, 1, 2), (5, 1, 2)]);
        passes.advance(2);
        assert_eq!(nodes(passes.next(&trie, 1)), [(1, 1, 1)], "at least one");
        passes.skip_subtree(&trie);
        assert_eq!(nodes(passes.next(&trie, 9)), [(4, 0, 0)]);
        passes.advance(1);
        assert!(passes.next(&trie, 9).is_empty());
    }
}
