//! Encodes texts with the limits of one model.

use super::answer::RunError;
use crate::tokenizer::{Side, TextTokenizer, truncate};
use compass_plan::DropMiddle;
use compass_plan::prompt::RenderedPrompt;

/// Joins the texts of a prompt if no chat template is applied (`_convert_base_messages`).
pub(super) fn as_text(prompt: RenderedPrompt) -> String {
    prompt.joined()
}

/// A tokenizer with its limits.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) tokenizer: &'a TextTokenizer,
    /// Maximum number of tokens of an input.
    pub(super) limit: usize,
    /// Maximum number of tokens of an input before shots are dropped, at least `limit`; `None` keeps every shot.
    pub(super) shots_within: Option<usize>,
    /// Side on which long prompts are truncated.
    pub(super) truncation_side: Side,
    /// Way in which they lose their middle, not a side.
    pub(super) drop_middle: Option<DropMiddle>,
    pub(super) vocabulary: usize,
}

impl Texts<'_> {
    /// Returns the number of tokens beyond which shots are dropped, of texts that are cut at `limit`, which is `self.limit` or
    /// one token beside it: none where every shot is kept.
    pub(super) fn shot_limit(&self, limit: usize) -> usize {
        self.shots_within.map_or(usize::MAX, |within| within - self.limit + limit)
    }

    /// Encodes a text with the special tokens of the plan's BOS policy.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, RunError> {
        self.checked(self.tokenizer.encode(text)?)
    }

    /// Encodes a text without special tokens.
    pub(super) fn encode_plain(&self, text: &str) -> Result<Vec<u32>, RunError> {
        self.checked(self.tokenizer.encode_plain(text)?)
    }

    /// Encodes by lm-eval's rule: a text that starts with the BOS string gets no second one.
    pub(super) fn encode_unless_prefixed(&self, text: &str) -> Result<Vec<u32>, RunError> {
        if self.is_prefixed(text) { self.encode_plain(text) } else { self.encode(text) }
    }

    /// Returns whether a text starts with the BOS string.
    pub(super) fn is_prefixed(&self, text: &str) -> bool {
        self.tokenizer.prefix().is_some_and(|(_, prefix)| !prefix.is_empty() && text.starts_with(prefix))
    }

    /// Returns the token before a text without context; `what` names it in the error.
    pub(super) fn prefix(&self, what: &str) -> Result<u32, RunError> {
        let none = || format!("{what}, and the model names neither BOS nor EOS to begin with");
        Ok(self.tokenizer.prefix().map(|(id, _)| id).ok_or_else(none)?)
    }

    /// Removes tokens until `limit` are left: at the configured side, or in the middle, of which the first half of `limit`,
    /// rounded down, and the last, rounded up, are kept (`input_ids[:n // 2]` and `input_ids[-n // 2:]` of OpenCompass).
    pub(super) fn truncate(&self, ids: &mut Vec<u32>, limit: usize, framed: bool) {
        if self.drop_middle == Some(DropMiddle::Tokens) && ids.len() > limit {
            let front = limit / 2;
            ids.drain(front..ids.len() - (limit - front));
        } else {
            self.truncate_side(ids, limit, framed);
        }
    }

    /// Removes tokens at the configured side until `limit` are left. Special tokens around a text that was encoded with
    /// them (`framed`) stay, as with transformers' tokenizers: a truncated prompt still starts with BOS.
    pub(super) fn truncate_side(&self, ids: &mut Vec<u32>, limit: usize, framed: bool) {
        if ids.len() <= limit {
            return;
        }
        let (before, after) = if framed { self.tokenizer.frame() } else { (0, 0) };
        if before + after >= limit {
            truncate(ids, limit, self.truncation_side);
            return;
        }
        let end = ids.split_off(ids.len() - after);
        let mut text = ids.split_off(before);
        truncate(&mut text, limit - before - after, self.truncation_side);
        ids.extend(text.into_iter().chain(end));
    }

    /// Rejects tokens beyond the model's vocabulary, which may be smaller than the tokenizer's.
    fn checked(&self, ids: Vec<u32>) -> Result<Vec<u32>, RunError> {
        match ids.iter().find(|&&id| id as usize >= self.vocabulary) {
            None => Ok(ids),
            Some(id) => {
                let vocabulary = self.vocabulary;
                Err(RunError::Sample(format!(
                    "token {id} of the tokenizer is beyond the model's vocabulary of {vocabulary}"
                )))
            }
        }
    }
}
