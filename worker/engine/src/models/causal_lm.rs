//! Interface of a model family to the executor.

use crate::kernels::Kernels;
use crate::kv::{Arena, Segment};
use tch::{Kind, TchError, Tensor};

/// Divisor of a CPU's free memory that an arena may take: weights are mapped and count as free, and several engines share a
/// machine.
pub(super) const PART_OF_MEMORY: usize = 4;

/// Tokens of a pass that the device has chosen, and the host has not seen.
pub(crate) struct LateTokens {
    /// Their rows in the pass.
    pub(crate) rows: Vec<i64>,
    /// The tokens, `[rows]`; -1 for one that could not be chosen, in whose place any may be used.
    pub(crate) ids: Tensor,
}

impl LateTokens {
    /// Returns the tokens of a pass with these in their places, for which the host waits.
    pub(super) fn filled_in(&self, tokens: &[u32], kernels: &dyn Kernels) -> Result<Vec<u32>, TchError> {
        let mut tokens = tokens.to_vec();
        for (&row, token) in self.rows.iter().zip(kernels.ids_to_host(&self.ids)?) {
            if let Some(place) = tokens.get_mut(row as usize) {
                *place = u32::try_from(token).unwrap_or(0);
            }
        }
        Ok(tokens)
    }
}

/// A decoder-only language model.
pub(crate) trait CausalLm {
    /// Computes final hidden states, `[tokens, hidden]`, of the tokens of `segments`, which are concatenated in
    /// `tokens`.
    ///
    /// A segment may follow others of the same pass. Extents must be large enough, and no two segments may write to the
    /// same tokens. A row depends only on the tokens before it in its own sequence, on the borders of their segments and
    /// extents, and on nothing else in the pass.
    fn hidden(&mut self, tokens: &[u32], segments: &[Segment], arena: &mut Arena) -> Result<Tensor, TchError>;

    /// Returns whether [`CausalLm::hidden_after`] leaves tokens where they are: otherwise it waits for them.
    fn takes_late_tokens(&self) -> bool {
        false
    }

    /// Computes what [`CausalLm::hidden`] computes, where some of the tokens are on the device alone: in their places `tokens` has
    /// any.
    fn hidden_after(
        &mut self,
        tokens: &[u32],
        late: &LateTokens,
        segments: &[Segment],
        arena: &mut Arena,
    ) -> Result<Tensor, TchError> {
        let tokens = late.filled_in(tokens, self.kernels())?;
        self.hidden(&tokens, segments, arena)
    }

    /// Computes logits, `[rows, vocabulary]` in the model's kind, of some rows of [`CausalLm::hidden`].
    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError>;

    /// Computes the same in f32.
    fn wide_logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        self.logits(hidden)?.f_to_kind(Kind::Float)
    }

    /// Reserves an arena for keys and values of `tokens` tokens.
    fn arena(&self, tokens: usize) -> Result<Arena, TchError>;

    /// Bytes of one token's keys and values in all layers.
    fn token_bytes(&self) -> usize;

    /// The operations on the model's device.
    fn kernels(&self) -> &dyn Kernels;

    /// Number of rows of a pass that memory allows and the device prefers.
    fn rows_at_once(&self) -> usize;

    /// Number of tokens whose keys and values the memory of the model's devices has room for, beside what else is computed,
    /// once the memory of an arena of `freed` tokens, which a GPU's allocator keeps, is used again.
    fn arena_tokens(&self, freed: usize) -> usize {
        let _ = freed;
        crate::memory::free_bytes() / PART_OF_MEMORY / self.token_bytes().max(1)
    }

    /// The same where the memory is short: what is computed beside it takes less then. A CPU's memory is taken as it is touched.
    fn arena_tokens_at_most(&self, freed: usize) -> usize {
        let _ = freed;
        usize::MAX
    }

    /// Returns whether results for a prefix of a sequence of `length` tokens are valid for the whole sequence. If not, a
    /// sequence is one segment from its first token on.
    fn shares_prefixes(&self, length: usize) -> bool;

    /// Size of the vocabulary; every token must be below.
    fn vocabulary(&self) -> usize;

    /// Maximum number of tokens of a sequence, for learnt positions; `None` for any length.
    fn most_positions(&self) -> Option<usize>;
}
