//! What the executor asks of a model family.

use crate::blocks::{KvCache, Segment};
use tch::{TchError, Tensor};

/// A decoder-only language model.
pub(crate) trait CausalLm {
    /// Final hidden states, `[tokens, hidden]`, of the tokens of `segments`, one segment after the other in `tokens`.
    ///
    /// Segments are computed as if in their order: one may stand on what an earlier one of the same pass has written to
    /// its cache, and may overwrite it. Caches must have room. What a row becomes depends on the segments before it in its
    /// own sequence and on where these begin and end, and on nothing else in the pass.
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], caches: &mut [KvCache]) -> Result<Tensor, TchError>;

    /// Logits, `[rows, vocabulary]` in f32, of some rows of [`CausalLm::hidden`].
    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError>;

    /// An empty cache for `capacity` tokens.
    fn cache(&self, capacity: usize) -> Result<KvCache, TchError>;

    /// How many rows a pass may have, as far as memory and the device's liking go.
    fn rows_at_once(&self) -> usize;

    /// Bytes that are free where the model computes.
    fn free_bytes(&self) -> usize {
        crate::memory::free_bytes()
    }

    /// Whether what is computed of the beginning of a sequence of `length` tokens holds for the whole sequence. Where it
    /// does not, a sequence is one segment from its first token on.
    fn shares_prefixes(&self, length: usize) -> bool;

    /// Entries of the vocabulary; every token must be below.
    fn vocabulary(&self) -> usize;

    /// Most tokens of a sequence, where positions are learnt and end; `None` where any length can be computed.
    fn most_positions(&self) -> Option<usize>;
}
