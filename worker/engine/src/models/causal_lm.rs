//! Interface of a model family to the executor.

use crate::blocks::{KvCache, Segment};
use tch::{TchError, Tensor};

/// A decoder-only language model.
pub(crate) trait CausalLm {
    /// Computes final hidden states, `[tokens, hidden]`, of the tokens of `segments`, which are concatenated in
    /// `tokens`.
    ///
    /// Segments are computed as if in order: one may follow what an earlier one of the same pass wrote to its cache,
    /// and may overwrite it. Caches must be large enough. A row depends only on the earlier segments of its own
    /// sequence and on their borders, and on nothing else in the pass.
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], caches: &mut [KvCache]) -> Result<Tensor, TchError>;

    /// Computes logits, `[rows, vocabulary]` in f32, of some rows of [`CausalLm::hidden`].
    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError>;

    /// Creates an empty cache for `capacity` tokens.
    fn cache(&self, capacity: usize) -> Result<KvCache, TchError>;

    /// Number of rows of a pass that memory allows and the device prefers.
    fn rows_at_once(&self) -> usize;

    /// Free bytes on the model's device.
    fn free_bytes(&self) -> usize {
        crate::memory::free_bytes()
    }

    /// Whether results for a prefix of a sequence of `length` tokens are valid for the whole sequence. If not, a
    /// sequence is one segment from its first token on.
    fn shares_prefixes(&self, length: usize) -> bool;

    /// Size of the vocabulary; every token must be below.
    fn vocabulary(&self) -> usize;

    /// Maximum number of tokens of a sequence, for learnt positions; `None` for any length.
    fn most_positions(&self) -> Option<usize>;
}
