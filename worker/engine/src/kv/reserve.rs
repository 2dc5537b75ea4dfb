//! Size of an arena: by the memory that is free when it is made, and from then on by its own account, since an
//! allocator that keeps what was freed makes the memory look smaller than it is.

use super::Arena;
use crate::fault::is_out_of_memory;
use crate::models::CausalLm;
use tch::TchError;

/// Maximum number of tokens that are of use.
const MOST_TOKENS: usize = 1 << 20;

/// Reserves an arena for a model: as large as its part of the memory allows. Where that is less than `least` tokens, it is as
/// large as the model allows at most, up to `least`: an extent that does not fit then is refused. `freed` is the size of the
/// arena that made room for it, whose memory a GPU's allocator keeps and does not count as free.
///
/// # Errors
/// The memory does not suffice for one token, or another error of libtorch.
pub(crate) fn reserve(model: &dyn CausalLm, least: usize, freed: usize) -> Result<Arena, TchError> {
    let allowed = model.arena_tokens(freed).min(MOST_TOKENS);
    let mut tokens =
        if allowed >= least { allowed } else { least.min(model.arena_tokens_at_most(freed).max(allowed)).max(1) };
    loop {
        match model.arena(tokens) {
            // An address space may have less room than memory.
            Err(error) if is_out_of_memory(&error) && tokens > 1 => {
                tokens = if tokens > least { (tokens / 2).max(least) } else { tokens / 2 };
            }
            other => return other,
        }
    }
}
