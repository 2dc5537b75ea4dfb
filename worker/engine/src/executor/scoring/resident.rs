//! Key-value stacks that outlive a batch: the path last computed on each, with its scores.
//!
//! A batch whose texts share a prefix with an earlier batch finds the prefix computed. The number of stacks is small,
//! as memory allows; the stack whose prefix is used by the fewest texts, and that was not used for the longest time, is
//! replaced.

use super::trie::Trie;
use crate::blocks::KvCache;
use crate::executor::score::TokenScore;
use crate::models::CausalLm;
use tch::{TchError, Tensor};

/// Maximum number of stacks: texts of a few prefixes may alternate.
const STACKS: usize = 4;

/// Divisor of the free memory that stacks beyond the first may use.
const SHARE: usize = 4;

/// Stacks are reserved for multiples of this many tokens.
const GRAIN: usize = 256;

/// A node on a stack.
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
    /// The path on each stack, from the first position on.
    pub(super) paths: Vec<Vec<ResidentNode>>,
    /// Value of keeping each stack.
    worth: Vec<Worth>,
    clock: u64,
}

/// The lowest value is replaced first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    /// Number of texts of a batch that used it, halved with every batch without any.
    texts: usize,
    /// When it was last chosen.
    used: u64,
}

/// The stack on which a root is computed, and the nodes below the root that are already on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackAssignment {
    pub(super) root: usize,
    pub(super) stack: usize,
    pub(super) known: Vec<usize>,
}

impl Resident {
    /// Reserves stacks for sequences of `longest` tokens, as many as memory allows.
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

    /// Assigns each root to a stack, in the order of computation: first the roots of which a stack holds a prefix,
    /// before others replace it.
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

    /// Returns the nodes of a trie, from a root on, that are on a stack with all requested scores.
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

    /// Drops all but the first `depth` nodes of a stack.
    pub(super) fn truncate(&mut self, stack: usize, depth: usize) {
        self.paths[stack].truncate(depth);
    }

    /// Drops all nodes, since the progress of a failed pass is unknown.
    pub(super) fn forget_all(&mut self) {
        for path in &mut self.paths {
            path.clear();
        }
    }
}
