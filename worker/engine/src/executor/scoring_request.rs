//! Scoring requests: the texts of one sample to score, and how their scores become its result.

use super::answer::RunError;
use super::bordered::Bordered;
use super::corpus_tokens::CorpusTokens;
use super::fit::fit_shots;
use super::notes::Notes;
use super::prefix_tokens::{EncodeMode, PrefixTokens};
use super::score::Precision;
use super::scoring::{Scored, ScoringInput};
use super::texts::Texts;
use compass_chat::ChatFormat;
use compass_plan::NumericProfile;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{Prompt, RenderedPrompt};
use compass_types::result::{Outcome, PromptFit};

/// Builds scoring requests by the texts and rules of one model.
#[derive(Clone)]
pub(super) struct ScoringRequestBuilder<'a> {
    pub(super) texts: Texts<'a>,
    pub(super) profile: NumericProfile,
    /// Number format in which log-probabilities are computed and summed.
    pub(super) precision: Precision,
    /// Padding token of transformers' batches; OpenCompass's losses ignore it at any position.
    pub(super) pad: Option<u32>,
    /// Set if `ll` is a sum ([`compass_plan::ModelPlan::sums_loglikelihood`]).
    pub(super) sums_loglikelihood: bool,
    /// Tokens of a character whose bytes are tokens of their own, in OpenCompass's count.
    pub(super) broken_width: usize,
    /// Present if the model has a chat template.
    pub(super) chat: Option<&'a ChatFormat>,
    pub(super) prefix_tokens: &'a PrefixTokens,
    pub(super) corpus_tokens: &'a CorpusTokens,
    pub(super) notes: Notes,
}

/// Texts of a sample to score, and what makes its outcome of their scores.
pub(super) struct ScoringRequest<'r> {
    pub(super) fit: PromptFit,
    pub(super) texts: Vec<ScoringInput>,
    pub(super) finish: MakeOutcome<'r>,
}

/// Makes the outcome of the scores of a request's texts, in their order.
pub(super) type MakeOutcome<'r> = Box<dyn FnOnce(&[Scored]) -> Result<Outcome, RunError> + Send + 'r>;

impl ScoringRequestBuilder<'_> {
    /// Returns the encoding with as many shots as fit ([`fit_shots`]).
    pub(super) fn fit_shots<T>(
        &self,
        shots: usize,
        limit: usize,
        encode: impl FnMut(usize) -> Result<(T, usize), RunError>,
    ) -> Result<(usize, T), RunError> {
        fit_shots(self.profile, shots, limit, encode)
    }

    /// Returns the text before an answer with the first `kept` shots, through the chat template where the model has
    /// one.
    pub(super) fn context(
        &self,
        request: &Request<'_>,
        prompt: &Prompt,
        kept: usize,
        spec: &BatchSpec,
    ) -> Result<Bordered, RunError> {
        // An empty prompt is not a message.
        if let (Some(chat), false) = (self.chat, prompt.0.is_empty())
            && let (RenderedPrompt::Messages(messages), _) = request.render_with_borders(prompt, kept, spec)
        {
            return if prompt.is_rounds() {
                Ok(Bordered { text: chat.scored_text(&messages)?, borders: Vec::new() })
            } else {
                let (text, borders) = chat.bordered(&messages)?;
                Ok(Bordered { text, borders })
            };
        }
        Ok(Bordered::of(request, prompt, kept, spec))
    }

    /// Returns the tokens of a whole text.
    pub(super) fn encode(&self, text: &Bordered, mode: EncodeMode) -> Result<Vec<u32>, RunError> {
        self.prefix_tokens.encode(&self.texts, text, mode)
    }

    /// Marks where a text that was encoded in this mode may be cut.
    pub(super) fn cut(&self, input: &mut ScoringInput, text: &Bordered, mode: EncodeMode) -> Result<(), RunError> {
        input.cuts = self.prefix_tokens.cuts(&self.texts, text, &input.fed, mode)?;
        Ok(())
    }
}
