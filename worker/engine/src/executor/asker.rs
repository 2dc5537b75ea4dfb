//! What every kind of scoring works with while it finds out what to ask of the model for one sample.

use super::answer::RunError;
use super::beginnings::{Beginnings, Manner};
use super::chat_format::ChatFormat;
use super::fit::fit_shots;
use super::notes::Notes;
use super::score::Precision;
use super::scoring::{Asked, Scored};
use super::texts::{Texts, as_text};
use compass_plan::NumericProfile;
use compass_plan::engine::{PackSpec, Request};
use compass_plan::prompt::{Prompt, RenderedPrompt};
use compass_types::result::{Outcome, PromptFit};

/// The texts and rules of one model.
pub(super) struct Asker<'a> {
    pub(super) texts: Texts<'a>,
    pub(super) profile: NumericProfile,
    /// In what log-probabilities are computed and summed.
    pub(super) precision: Precision,
    /// What fills rows up in transformers' batches; OpenCompass's losses pass over it wherever it stands.
    pub(super) pad: Option<u32>,
    /// Present where the model has a chat template.
    pub(super) chat: Option<&'a ChatFormat>,
    pub(super) beginnings: &'a Beginnings,
    pub(super) notes: &'a mut Notes,
}

/// What a sample wants to know, and what becomes of it.
pub(super) struct Question<'r> {
    pub(super) fit: PromptFit,
    pub(super) texts: Vec<Asked>,
    pub(super) finish: Finish<'r>,
}

/// Makes the outcome of the scores of a question's texts, in their order.
pub(super) type Finish<'r> = Box<dyn FnOnce(&[Scored]) -> Result<Outcome, RunError> + 'r>;

/// A rendered text with its structural borders.
#[derive(Clone, Debug)]
pub(super) struct Bordered {
    pub(super) text: String,
    /// In bytes, in order.
    pub(super) borders: Vec<usize>,
}

impl Bordered {
    /// A prompt of the request with the first `kept` shots.
    pub(super) fn of(request: &Request<'_>, prompt: &Prompt, kept: usize, pack: &PackSpec) -> Self {
        match request.render_with_borders(prompt, kept, pack) {
            (RenderedPrompt::Text(text), borders) => Self { text, borders },
            // Words put together without the chat around them have no borders of their own.
            (prompt @ RenderedPrompt::Messages(_), _) => Self { text: as_text(prompt), borders: Vec::new() },
        }
    }
}

impl Asker<'_> {
    /// What was encoded with as many shots as fit ([`fit_shots`]).
    pub(super) fn fit_shots<T>(
        &self,
        shots: usize,
        limit: usize,
        encode: impl FnMut(usize) -> Result<(T, usize), RunError>,
    ) -> Result<(usize, T), RunError> {
        fit_shots(self.profile, shots, limit, encode)
    }

    /// The text before an answer, with the first `kept` shots: through the chat template where the model has one.
    pub(super) fn context(
        &self,
        request: &Request<'_>,
        prompt: &Prompt,
        kept: usize,
        pack: &PackSpec,
    ) -> Result<Bordered, RunError> {
        // Nothing is no message either.
        if let (Some(chat), false) = (self.chat, prompt.0.is_empty())
            && let (RenderedPrompt::Messages(messages), _) = request.render_with_borders(prompt, kept, pack)
        {
            return if prompt.is_rounds() {
                Ok(Bordered { text: chat.text(&messages)?, borders: Vec::new() })
            } else {
                chat.bordered(&messages)
            };
        }
        Ok(Bordered::of(request, prompt, kept, pack))
    }

    /// Tokens of a whole text.
    pub(super) fn encode(&self, text: &Bordered, manner: Manner) -> Result<Vec<u32>, RunError> {
        self.beginnings.encode(&self.texts, text, manner)
    }

    /// Marks where a text that was encoded in this manner may be cut.
    pub(super) fn cut(&self, asked: &mut Asked, text: &Bordered, manner: Manner) -> Result<(), RunError> {
        asked.cuts = self.beginnings.cuts(&self.texts, text, &asked.fed, manner)?;
        Ok(())
    }
}
