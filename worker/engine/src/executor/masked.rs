//! OpenCompass's `get_ppl` with `mask_length`: losses of a row of tokens after its first ones, and the count to divide
//! by.

use super::answer::RunError;
use super::score::{Precision, TokenScore, sum};
use super::scoring::ScoringInput;
use super::scoring_request::ScoringRequestBuilder;
use compass_plan::NumericProfile;

/// One row, with its losses that count.
#[derive(Debug)]
pub(super) struct Masked {
    pub(super) input: ScoringInput,
    /// OpenCompass's divisor: all tokens less the masked ones. This is not the number of losses: it includes the first
    /// token, which has none.
    pub(super) tokens: u32,
    /// For each requested score, whether it counts.
    counts: Vec<bool>,
}

/// Returns the row that scores `ids[mask..]`; the first token of the text has no loss.
///
/// Under OpenCompass's profile, padding tokens (EOS, if there is no other) have no loss and do not count at any
/// position, since `ignore_index` cannot distinguish them from padding.
///
/// # Errors
/// [`RunError::Sample`] if no token is left to divide by; `what` names the row.
pub(super) fn masked(
    builder: &ScoringRequestBuilder<'_>,
    ids: Vec<u32>,
    mask: usize,
    what: &str,
) -> Result<Masked, RunError> {
    let pad = builder.pad.filter(|_| builder.profile == NumericProfile::Opencompass);
    let counted = ids.iter().filter(|&&id| Some(id) != pad).count();
    let tokens = counted.checked_sub(mask).filter(|&tokens| tokens > 0);
    let tokens = tokens.ok_or_else(|| format!("{what} has no tokens to score, so it has no score"))?;
    let first = mask.max(1).min(ids.len());
    let counts = ids[first..].iter().map(|&id| Some(id) != pad).collect();
    Ok(Masked { input: ScoringInput::scores(ids, first), tokens: tokens as u32, counts })
}

impl Masked {
    /// Returns the scores that count, in order.
    pub(super) fn counted(&self, scores: &[TokenScore]) -> Vec<TokenScore> {
        scores.iter().zip(&self.counts).filter(|(_, counts)| **counts).map(|(score, _)| *score).collect()
    }

    /// Returns the sum of -log p over the tokens that count.
    pub(super) fn nll_sum(&self, scores: &[TokenScore]) -> Result<f64, RunError> {
        // Never -0: a text of one token has nothing to predict.
        Ok(-sum(&self.counted(scores), Precision::Full)? + 0.0)
    }
}
