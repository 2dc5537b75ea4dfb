//! What the executor asks of a model family.

use crate::blocks::KvCache;
use tch::{TchError, Tensor};

/// A decoder-only language model. Batches do not exist here: one sequence at a time.
pub(crate) trait CausalLm {
    /// Final hidden states, `[tokens, hidden]`, of consecutive tokens of which the first stands at position `start`: after
    /// the `start` tokens that the cache holds, when there is one.
    fn hidden(&mut self, tokens: &[u32], start: usize, cache: Option<&mut KvCache>) -> Result<Tensor, TchError>;

    /// Logits, `[rows, vocabulary]` in f32, of some rows of [`CausalLm::hidden`].
    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError>;

    /// An empty cache for `capacity` tokens.
    fn cache(&self, capacity: usize) -> Result<KvCache, TchError>;

    /// Entries of the vocabulary; every token must be below.
    fn vocabulary(&self) -> usize;

    /// Most tokens of a sequence, where positions are learnt and end; `None` where any length can be computed.
    fn most_positions(&self) -> Option<usize>;
}
