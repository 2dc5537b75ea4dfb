//! OpenCompass's `get_ppl` with `mask_length`: losses of a row of tokens after its first ones, and how many they count as.

use super::answer::RunError;
use super::runner::Runner;
use super::score::{Precision, TokenScore, sum};
use compass_common::plan::NumericProfile;

/// Losses of one row.
#[derive(Debug)]
pub(super) struct Masked {
    /// Sum of -log p over the tokens that count.
    pub(super) nll_sum: f64,
    /// What OpenCompass divides by: all tokens less the masked ones. Not the number of losses: the first token, which
    /// nothing predicts, is in it.
    pub(super) tokens: u32,
    /// The tokens that count, in order.
    pub(super) scores: Vec<TokenScore>,
}

/// Scores `ids[mask..]`, of which the very first token has no loss.
///
/// Under OpenCompass's profile padding tokens (EOS, where there is no other) have no loss and are not counted wherever
/// they stand, since `ignore_index` cannot tell them from padding.
///
/// # Errors
/// [`RunError::Sample`] when nothing is left to divide by; `what` names the row.
pub(super) fn masked(runner: &mut Runner<'_>, ids: &[u32], mask: usize, what: &str) -> Result<Masked, RunError> {
    let pad = runner.pad.filter(|_| runner.profile == NumericProfile::Opencompass);
    let counted = ids.iter().filter(|&&id| Some(id) != pad).count();
    let tokens = counted.checked_sub(mask).filter(|&tokens| tokens > 0);
    let tokens = tokens.ok_or_else(|| format!("{what} has no tokens to score, so it has no score"))?;
    let first = mask.max(1).min(ids.len());
    let mut scores = runner.score(ids, first)?;
    let mut targets = ids[first..].iter();
    scores.retain(|_| targets.next().copied() != pad || pad.is_none());
    // Never -0: a text of one token has nothing to predict.
    Ok(Masked { nll_sum: -sum(&scores, Precision::Full)? + 0.0, tokens: tokens as u32, scores })
}
