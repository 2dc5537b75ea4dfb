//! Key-value stacks that outlive a batch: the last path that each was walked down, with what is known of it.
//!
//! A batch whose texts begin as an earlier one's did finds that beginning computed. The stacks are few, as memory allows; the
//! one on whose beginning the fewest texts stand, and that was not used for longest, makes room.

use super::trie::Trie;
use crate::blocks::KvCache;
use crate::executor::score::TokenScore;
use crate::models::CausalLm;
use tch::{TchError, Tensor};

/// Stacks at most: texts of a few prefixes may take turns.
const STACKS: usize = 4;

/// The share of the memory that is free which stacks beyond the first may take.
const SHARE: usize = 4;

/// Room is reserved for so many tokens or a multiple of it.
const GRAIN: usize = 256;

/// A node that stands in a stack.
pub(super) struct ResidentNode {
    pub(super) tokens: Vec<u32>,
    /// The first row whose prediction of the next token is known.
    pub(super) inner_from: usize,
    pub(super) inner: Vec<TokenScore>,
    /// Final hidden state of the last row, `[1, hidden]`.
    pub(super) last: Tensor,
}

/// The stacks.
#[derive(Default)]
pub(super) struct Resident {
    pub(super) caches: Vec<KvCache>,
    /// What stands in each, from the first position on.
    pub(super) paths: Vec<Vec<ResidentNode>>,
    /// What each is worth keeping.
    worth: Vec<Worth>,
    clock: u64,
}

/// Less is given up first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    /// Texts of a batch that stood on it, halved with every batch that has none.
    texts: usize,
    /// When it was last chosen.
    used: u64,
}

/// The stack on which a root is computed, and the nodes from it on that stand there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackAssignment {
    pub(super) root: usize,
    pub(super) stack: usize,
    pub(super) known: Vec<usize>,
}

impl Resident {
    /// Makes room for sequences of `longest` tokens, and for as many stacks as memory allows.
    pub(super) fn reserve(&mut self, model: &dyn CausalLm, longest: usize) -> Result<(), TchError> {
        let longest = longest.div_ceil(GRAIN) * GRAIN;
        for (cache, path) in self.caches.iter_mut().zip(&self.paths) {
            if cache.capacity() < longest {
                let mut larger = model.cache(longest)?;
                let length = path.iter().map(|resident| resident.tokens.len()).sum();
                larger.fork_from(cache, length)?;
                *cache = larger;
            }
        }
        while self.caches.len() < STACKS {
            let taken = self.caches.first().map_or(0, KvCache::bytes);
            if !self.caches.is_empty() && taken > model.free_bytes() / SHARE {
                break;
            }
            self.caches.push(model.cache(longest)?);
            self.paths.push(Vec::new());
            self.worth.push(Worth::default());
        }
        Ok(())
    }

    /// Where each root is to be computed, in the order in which that must happen: first the roots of which a stack has a
    /// prefix already, before others are put there.
    pub(super) fn assign_stacks(&mut self, trie: &Trie) -> Vec<StackAssignment> {
        let mut assignments: Vec<StackAssignment> = Vec::with_capacity(trie.roots.len());
        for stack in 0..self.paths.len() {
            let known = self.known(trie, stack);
            match known.first().filter(|&&root| assignments.iter().all(|assignment| assignment.root != root)) {
                Some(&root) => {
                    assignments.push(StackAssignment { root, stack, known });
                    self.choose(stack, trie, root);
                }
                None => self.worth[stack].texts /= 2,
            }
        }
        for &root in &trie.roots {
            if assignments.iter().any(|assignment| assignment.root == root) {
                continue;
            }
            let stack = (0..self.worth.len()).min_by_key(|&stack| self.worth[stack]).unwrap_or(0);
            self.choose(stack, trie, root);
            assignments.push(StackAssignment { root, stack, known: Vec::new() });
        }
        assignments
    }

    fn choose(&mut self, stack: usize, trie: &Trie, root: usize) {
        self.clock += 1;
        let texts = trie.subtree(root, &[]).into_iter().map(|node| trie.nodes[node].ends.len()).sum();
        self.worth[stack] = Worth { texts, used: self.clock };
    }

    /// The nodes of a trie, from a root on, that stand in a stack with everything that is wanted of them.
    fn known(&self, trie: &Trie, stack: usize) -> Vec<usize> {
        let mut known = Vec::new();
        let mut children = &trie.roots;
        for resident in &self.paths[stack] {
            let fits = |&&node: &&usize| {
                let node = &trie.nodes[node];
                node.tokens == resident.tokens && node.inner_from >= resident.inner_from
            };
            let Some(&node) = children.iter().find(fits) else { break };
            known.push(node);
            children = &trie.nodes[node].children;
        }
        known
    }

    /// Forgets all but the first `depth` nodes of a stack.
    pub(super) fn truncate(&mut self, stack: usize, depth: usize) {
        self.paths[stack].truncate(depth);
    }

    /// Forgets what is in place: how far a failed pass came is unknown.
    pub(super) fn forget_all(&mut self) {
        for path in &mut self.paths {
            path.clear();
        }
    }
}
