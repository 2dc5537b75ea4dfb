//! Decoding of one sequence: the next token, the end, and the reported answer.

use super::answer::RunError;
use super::batching::Prediction;
use super::sampling::{Draw, choose};
use super::settings::Settings;
use super::thinking::{NextToken, Tracker};
use crate::tokenizer::{DecodeOptions, TextTokenizer};
use compass_plan::NumericProfile;
use compass_types::result::{Finish, Generation};

/// Decides for all sequences of one batch.
pub(super) struct BatchDecoder<'a> {
    tokenizer: &'a TextTokenizer,
    profile: NumericProfile,
    settings: &'a Settings,
    /// Number of tokens of the longest stop string.
    longest_stop: usize,
}

impl<'a> BatchDecoder<'a> {
    /// # Errors
    /// [`RunError::Sample`] if the tokenizer fails on a stop string.
    pub(super) fn new(
        tokenizer: &'a TextTokenizer,
        profile: NumericProfile,
        settings: &'a Settings,
    ) -> Result<Self, RunError> {
        Ok(Self { tokenizer, profile, settings, longest_stop: settings.stop.longest(tokenizer)? })
    }

    /// Returns the token that follows by a prediction; the last `generated` of the `seen` tokens are not the
    /// prompt's.
    ///
    /// # Errors
    /// [`RunError::Sample`] if no logit is a number.
    pub(super) fn next_token(
        &self,
        prediction: Prediction<'_>,
        seen: &[u32],
        generated: usize,
        draw: Draw,
    ) -> Result<u32, RunError> {
        let Settings { rules, eos, .. } = self.settings;
        let none = || RunError::Sample("the model's logits are not numbers, so there is no next token".into());
        let mut row = match prediction {
            // Ties go to the lowest id on every device.
            Prediction::Best(token) | Prediction::Drawn(token) => return token.ok_or_else(none),
            Prediction::Logits(row) => row.to_vec(),
        };
        rules.apply(&mut row, seen, generated, eos);
        choose(&row, rules.warp.map(|_| (draw, generated))).ok_or_else(none)
    }

    /// Returns the token that follows, as [`BatchDecoder::next_token`], for a sequence that may think.
    ///
    /// # Errors
    /// [`RunError::Sample`] if no logit is a number.
    pub(super) fn next_of(
        &self,
        tracker: &mut Tracker,
        prediction: Prediction<'_>,
        seen: &[u32],
        generated: usize,
        draw: Draw,
    ) -> Result<NextToken, RunError> {
        let token = self.next_token(prediction, seen, generated, draw)?;
        let Some(rules) = &self.settings.thinking else { return Ok(NextToken::Token(token)) };
        // A sequence that begins again has fewer tokens than its state.
        tracker.read(rules, self.tokenizer, &seen[seen.len() - generated..])?;
        Ok(tracker.next(rules, token, &self.settings.eos))
    }

    /// Returns how a sequence that may think ends, as [`BatchDecoder::ends`]: stop strings count in its answer alone.
    ///
    /// # Errors
    /// [`RunError::Sample`] if the tokenizer fails.
    pub(super) fn ends_of(
        &self,
        tracker: &mut Tracker,
        seen: &[u32],
        generated: usize,
        most: usize,
    ) -> Result<Option<Finish>, RunError> {
        let Settings { stop, eos, thinking, .. } = self.settings;
        let Some(rules) = thinking else { return self.ends(seen, generated, most) };
        let answer = &seen[seen.len() - generated..];
        let is_over = seen.last().is_some_and(|last| eos.contains(last));
        // An end token within thinking does not count as thinking.
        if !(is_over && tracker.is_thinking()) {
            tracker.read(rules, self.tokenizer, answer)?;
        }
        if is_over {
            return Ok(Some(Finish::Eos));
        }
        if !stop.is_empty() && tracker.is_stopped(rules, self.tokenizer, answer, |text| stop.occur_in(text))? {
            return Ok(Some(Finish::Stop));
        }
        Ok((generated == most || tracker.is_full()).then_some(Finish::Length))
    }

    /// Returns how the sequence ends if the last of the `seen` tokens ends it; the last `generated` of them are not the
    /// prompt's.
    ///
    /// # Errors
    /// [`RunError::Sample`] if the tokenizer fails.
    pub(super) fn ends(&self, seen: &[u32], generated: usize, most: usize) -> Result<Option<Finish>, RunError> {
        let Settings { stop, eos, .. } = self.settings;
        if seen.last().is_some_and(|last| eos.contains(last)) {
            return Ok(Some(Finish::Eos));
        }
        let (prompt, tokens) = seen.split_at(seen.len() - generated);
        let stopped = match self.profile {
            NumericProfile::Opencompass => stop.occur_at_the_end(self.tokenizer, seen, self.longest_stop)?,
            _ => stop.completed(|ids| self.text(ids, prompt, true), tokens)?,
        };
        Ok(if stopped {
            Some(Finish::Stop)
        } else if generated == most {
            Some(Finish::Length)
        } else {
            None
        })
    }

    /// Returns the answer in the last `generated` of the `seen` tokens: decoded, told apart from the thinking before it, and cut before
    /// the first stop string.
    ///
    /// # Errors
    /// [`RunError::Sample`] if the tokenizer fails.
    pub(super) fn finished(
        &self,
        tracker: &Tracker,
        seen: &[u32],
        generated: usize,
        finish: Finish,
    ) -> Result<Generation, RunError> {
        let (prompt, tokens) = seen.split_at(seen.len() - generated);
        // An end token within thinking is no part of it; behind an answer its text is cut as a stop string.
        let is_last_shown = finish != Finish::Eos || !tracker.is_thinking();
        let tokens = if is_last_shown { tokens } else { &tokens[..tokens.len() - 1] };
        let text = self.text(tokens, prompt, self.settings.keeps_special)?;
        let (thinking, answer, count) = match &self.settings.thinking {
            Some(rules) => tracker.finished(rules, &text, finish),
            None => (None, text.as_str(), tokens.len()),
        };
        let cut = self.settings.stop.cut(answer);
        // For chat models the end token is a stop string too, but it counts as an end by the model.
        let finish = if cut.len() < answer.len() && finish != Finish::Eos { Finish::Stop } else { finish };
        Ok(Generation { thinking, ..Generation::new(cut, count as u32, finish) })
    }

    /// Returns the text of tokens behind a prompt.
    fn text(&self, tokens: &[u32], prompt: &[u32], keeps_special: bool) -> Result<String, RunError> {
        let Settings { keeps_first_space, keeps_spaces, .. } = *self.settings;
        let after = prompt.last().copied().filter(|_| keeps_first_space);
        Ok(self.tokenizer.decode_as(tokens, DecodeOptions { keeps_special, after, keeps_spaces })?)
    }
}
