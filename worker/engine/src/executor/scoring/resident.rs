//! Prefix segments that outlive a batch: their keys and values, with the scores of their tokens.
//!
//! A batch whose texts begin as an earlier batch's did finds the prefix computed. Only segments that other samples may
//! share stay, by far not all of the arena; of the segments that none follows, the one that was not used for the
//! longest time makes room.

use super::trie::Trie;
use crate::executor::score::TokenScore;
use crate::kv::{Arena, ExtentId};
use std::collections::HashMap;
use tch::Tensor;

/// A segment that was computed.
pub(super) struct ResidentNode {
    pub(super) tokens: Vec<u32>,
    pub(super) extent: ExtentId,
    /// The first row whose prediction of the next token is known.
    pub(super) inner_from: usize,
    pub(super) inner: Vec<TokenScore>,
    /// Final hidden state of the last row, `[1, hidden]`.
    pub(super) last: Tensor,
}

/// The segments, as a trie.
#[derive(Default)]
pub(super) struct Resident {
    nodes: HashMap<usize, Kept>,
    by_tokens: HashMap<(Option<usize>, Vec<u32>), usize>,
    /// Number of the next node.
    next: usize,
    clock: u64,
    tokens: usize,
}

struct Kept {
    parent: Option<usize>,
    children: usize,
    node: ResidentNode,
    /// Time of its last use.
    used: u64,
}

impl Resident {
    /// Returns for each node of a trie the resident segment that is equal to it, with all requested scores.
    pub(super) fn find(&mut self, trie: &Trie) -> Vec<Option<usize>> {
        self.clock += 1;
        let mut found: Vec<Option<usize>> = Vec::with_capacity(trie.nodes.len());
        // A parent's number is below its children's.
        for node in &trie.nodes {
            let parent = match node.parent {
                None => Some(None),
                Some(parent) => found[parent].map(Some),
            };
            let same = parent.and_then(|parent| self.by_tokens.get(&(parent, node.tokens.clone())).copied());
            let kept = same.and_then(|same| Some((same, self.nodes.get_mut(&same)?)));
            found.push(kept.filter(|(_, kept)| node.inner_from >= kept.node.inner_from).map(|(same, kept)| {
                kept.used = self.clock;
                same
            }));
        }
        found
    }

    /// Returns a segment that was found.
    pub(super) fn get(&self, number: usize) -> Option<&ResidentNode> {
        self.nodes.get(&number).map(|kept| &kept.node)
    }

    /// Keeps a segment after `parent`, and adds a holder to its extent. Returns its number.
    pub(super) fn keep(&mut self, arena: &mut Arena, parent: Option<usize>, node: ResidentNode) -> usize {
        let key = (parent, node.tokens.clone());
        // A segment with fewer scores is dropped, with the segments that follow it.
        if let Some(&old) = self.by_tokens.get(&key) {
            self.drop_subtree(arena, old);
        }
        let number = self.next;
        self.next += 1;
        arena.retain(node.extent);
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children += 1;
        }
        self.tokens += node.tokens.len();
        self.by_tokens.insert(key, number);
        self.nodes.insert(number, Kept { parent, children: 0, node, used: self.clock });
        number
    }

    fn drop_subtree(&mut self, arena: &mut Arena, number: usize) {
        let below = self.nodes.iter().filter(|(_, kept)| kept.parent == Some(number)).map(|(&below, _)| below);
        for below in below.collect::<Vec<_>>() {
            self.drop_subtree(arena, below);
        }
        self.drop_leaf(arena, number);
    }

    fn drop_leaf(&mut self, arena: &mut Arena, number: usize) {
        let Some(Kept { parent, node, .. }) = self.nodes.remove(&number) else { return };
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.children -= 1;
        }
        arena.release(node.extent);
        self.tokens -= node.tokens.len();
        self.by_tokens.remove(&(parent, node.tokens));
    }

    /// Drops the segment that was not used for the longest time, of those that nothing follows and no batch holds.
    /// Returns `false` if no segment can be dropped.
    pub(super) fn evict(&mut self, arena: &mut Arena) -> bool {
        let idle = self.nodes.iter().filter(|(_, kept)| kept.children == 0 && !arena.is_shared(kept.node.extent));
        let Some((&oldest, _)) = idle.min_by_key(|&(&number, kept)| (kept.used, number)) else { return false };
        self.drop_leaf(arena, oldest);
        true
    }

    /// Drops segments until at most `tokens` tokens are left.
    pub(super) fn trim(&mut self, arena: &mut Arena, tokens: usize) {
        while self.tokens > tokens && self.evict(arena) {}
    }

    /// Forgets all segments; the arena is cleared or replaced.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.by_tokens.clear();
        self.tokens = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ScoringInput;
    use super::*;
    use tch::{Device, Kind};

    fn trie(texts: &[&[u32]]) -> Trie {
        let mut trie = Trie::default();
        for (number, tokens) in texts.iter().enumerate() {
            let text = ScoringInput { fed: tokens.to_vec(), first: 2, next: vec![0], cuts: vec![2] };
            trie.insert(number, &text);
        }
        trie
    }

    #[test]
    fn the_oldest_segment_that_nothing_follows_makes_room() {
        let mut arena = Arena::new(&[Device::Cpu], 6, (1, 1), Kind::Float).unwrap();
        let mut resident = Resident::default();
        let node = |arena: &mut Arena, tokens: &[u32]| ResidentNode {
            tokens: tokens.to_vec(),
            extent: arena.allocate(tokens.len()).unwrap(),
            inner_from: 0,
            inner: Vec::new(),
            last: Tensor::zeros([1, 1], (Kind::Float, Device::Cpu)),
        };
        let keep = |resident: &mut Resident, arena: &mut Arena, parent, tokens: &[u32]| {
            let node = node(arena, tokens);
            let extent = node.extent;
            let number = resident.keep(arena, parent, node);
            arena.release(extent);
            number
        };
        let header = keep(&mut resident, &mut arena, None, &[1, 2]);
        let shot = keep(&mut resident, &mut arena, Some(header), &[3]);
        let other = keep(&mut resident, &mut arena, None, &[1, 3]);
        assert_eq!(
            resident.find(&trie(&[&[1, 2, 3], &[1, 3, 4], &[1, 2, 4]])),
            [Some(header), Some(shot), Some(other), None, None]
        );
        assert_eq!(resident.find(&trie(&[&[1, 2, 3]])), [Some(header), Some(shot)]);
        assert!(resident.evict(&mut arena));
        assert_eq!(resident.find(&trie(&[&[1, 3]])), [None], "it was used before the others");
        let held = resident.get(shot).unwrap().extent;
        arena.retain(held);
        assert!(!resident.evict(&mut arena), "a batch stands on what is left");
        arena.release(held);
        resident.trim(&mut arena, 2);
        assert_eq!(resident.find(&trie(&[&[1, 2, 3]])), [Some(header), None]);
        resident.trim(&mut arena, 0);
        assert!(arena.allocate(6).is_some(), "all is free again");
    }
}
