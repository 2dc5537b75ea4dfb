//! The trie of a batch's texts.
//!
//! Pure. A node is a prefix segment: the tokens between two cuts, after the segments of its parents; equal segments
//! under one parent are one node. Nodes are numbered in the order of insertion, so that a parent's number is below its
//! children's.

use super::ScoringInput;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A prefix segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) tokens: Vec<u32>,
    /// Position of its first token.
    pub(super) position: usize,
    pub(super) children: Vec<usize>,
    /// The first row that must predict the token after it within the node; the number of rows when none must.
    pub(super) inner_from: usize,
    /// Tokens that its last row must predict: first tokens of children, and tokens to be scored at the end of texts.
    pub(super) next: BTreeSet<u32>,
    /// Texts that end here.
    pub(super) ends: Vec<usize>,
    /// Hash of all tokens from the start of the sequence, with the cuts between them.
    pub(super) path: u64,
    /// Set if it ends at a structural border or before one: other samples may share it.
    pub(super) is_common: bool,
}

impl Node {
    /// Length of the sequence up to its end.
    pub(super) fn end(&self) -> usize {
        self.position + self.tokens.len()
    }
}

/// Nodes, and where each text ends.
#[derive(Debug, Default)]
pub(super) struct Trie {
    pub(super) nodes: Vec<Node>,
    pub(super) roots: Vec<usize>,
    by_tokens: HashMap<(Option<usize>, Vec<u32>), usize>,
}

impl Trie {
    /// Inserts a text with at least one token to feed, under its index. Returns the node in which it ends.
    pub(super) fn insert(&mut self, index: usize, text: &ScoringInput) -> usize {
        let mut parent = None;
        let mut start = 0;
        for end in text.cuts.iter().copied().chain([text.fed.len()]) {
            let Some(tokens) = text.fed.get(start..end).filter(|tokens| !tokens.is_empty()) else { continue };
            let number = self.child(parent, start, tokens);
            let node = &mut self.nodes[number];
            node.inner_from = node.inner_from.min((text.first.max(start + 1) - start - 1).min(tokens.len()));
            // The row before the last predicts the last token, so that the last row has none of its own.
            if let Some(&after) = text.fed.get(end).filter(|_| end >= text.first) {
                node.next.insert(after);
            }
            (parent, start) = (Some(number), end);
        }
        let last = parent.unwrap_or_default();
        if let Some(node) = self.nodes.get_mut(last) {
            node.next.extend(&text.next);
            node.ends.push(index);
        }
        last
    }

    /// Marks the nodes of a text, which ends in `node`, that end within its first `common` tokens.
    pub(super) fn mark_common(&mut self, node: usize, common: usize) {
        for at in self.path(node) {
            let node = &mut self.nodes[at];
            node.is_common |= node.end() <= common;
        }
    }

    fn child(&mut self, parent: Option<usize>, position: usize, tokens: &[u32]) -> usize {
        let key = (parent, tokens.to_vec());
        if let Some(&node) = self.by_tokens.get(&key) {
            return node;
        }
        let number = self.nodes.len();
        let mut hasher = DefaultHasher::new();
        (parent.map(|parent| self.nodes[parent].path), tokens).hash(&mut hasher);
        let path = hasher.finish();
        match parent {
            Some(parent) => self.nodes[parent].children.push(number),
            None => self.roots.push(number),
        }
        let (inner_from, tokens) = (tokens.len(), key.1.clone());
        self.nodes.push(Node { parent, tokens, position, inner_from, path, ..Node::default() });
        self.by_tokens.insert(key, number);
        number
    }

    /// Returns the nodes from a root down to `node`.
    pub(super) fn path(&self, node: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(node), |&at| self.nodes[at].parent).collect();
        path.reverse();
        path
    }

    /// Returns a root and all nodes below it, depth first.
    pub(super) fn subtree(&self, root: usize) -> Vec<usize> {
        let mut order = Vec::new();
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            order.push(node);
            open.extend(self.nodes[node].children.iter().rev());
        }
        order
    }

    /// Returns the number of tokens of the longest text.
    pub(super) fn longest(&self) -> usize {
        self.nodes.iter().map(Node::end).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(fed: &[u32], first: usize, next: &[u32], cuts: &[usize]) -> ScoringInput {
        ScoringInput { fed: fed.to_vec(), first, next: next.to_vec(), cuts: cuts.to_vec() }
    }

    #[test]
    fn equal_prefixes_are_one_node() {
        let mut trie = Trie::default();
        let a = trie.insert(0, &input(&[1, 2, 3, 4], 1, &[9], &[2, 3]));
        let b = trie.insert(1, &input(&[1, 2, 3, 5], 3, &[8], &[2, 3]));
        let c = trie.insert(2, &input(&[1, 2, 3], 3, &[7], &[2]));
        let other = trie.insert(3, &input(&[1, 2, 3], 1, &[7], &[]));
        assert_eq!(trie.nodes.len(), 5, "a text with other cuts has other nodes");
        assert_eq!((trie.path(a), trie.path(b), trie.path(c)), (vec![0, 1, 2], vec![0, 1, 3], vec![0, 1]));
        assert_eq!((trie.roots.clone(), trie.subtree(0), trie.longest()), (vec![0, other], vec![0, 1, 2, 3], 4));
        let of = |node: usize| (trie.nodes[node].inner_from, trie.nodes[node].next.iter().copied().collect::<Vec<_>>());
        assert_eq!(of(0), (0, vec![3]), "only the first text needs the first token of `3`");
        assert_eq!(of(1), (0, vec![4, 5, 7]));
        assert_eq!(of(2), (0, vec![9]));
        assert_ne!(trie.nodes[0].path, trie.nodes[other].path);
    }

    #[test]
    fn only_requested_tokens_are_predicted() {
        let mut trie = Trie::default();
        trie.insert(0, &input(&[1, 2, 3, 4, 5, 6], 5, &[9], &[2, 4]));
        let wanted: Vec<_> = trie.nodes.iter().map(|node| (node.inner_from, node.next.len())).collect();
        assert_eq!(wanted, [(2, 0), (2, 0), (0, 1)]);
        trie.insert(1, &input(&[1, 2, 3, 4, 5, 6], 3, &[9], &[2, 4]));
        let wanted: Vec<_> = trie.nodes.iter().map(|node| (node.inner_from, node.next.len())).collect();
        assert_eq!(wanted, [(2, 0), (0, 1), (0, 1)]);
    }
}
