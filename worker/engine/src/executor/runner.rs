//! What every kind of inference works with while it runs one sample.

use super::answer::RunError;
use super::notes::Notes;
use super::score::{Precision, TokenScore, score_from};
use super::texts::Texts;
use crate::models::CausalLm;
use compass_common::engine::TokenCounters;
use compass_common::plan::NumericProfile;

/// One model with its texts, rules and counters.
pub(super) struct Runner<'a> {
    pub(super) model: &'a mut dyn CausalLm,
    pub(super) texts: Texts<'a>,
    pub(super) profile: NumericProfile,
    /// In what log-probabilities are computed and summed.
    pub(super) precision: Precision,
    /// What fills rows up in transformers' batches; OpenCompass's losses pass over it wherever it stands.
    pub(super) pad: Option<u32>,
    pub(super) counters: &'a mut TokenCounters,
    pub(super) notes: &'a mut Notes,
}

impl Runner<'_> {
    /// Scores `tokens[first..]`, see [`score_from`].
    pub(super) fn score(&mut self, tokens: &[u32], first: usize) -> Result<Vec<TokenScore>, RunError> {
        Ok(score_from(self.model, tokens, first, self.precision, self.counters)?)
    }
}
