//! From what a sample asks to the ids that the model is to continue.

use super::answer::RunError;
use super::chat_format::ChatFormat;
use super::fit::{drop_shots, report};
use super::settings::Settings;
use super::texts::{Texts, as_text};
use compass_common::engine::{PackSpec, Request};
use compass_common::plan::NumericProfile;
use compass_common::prompt::{Message, MetaTemplate, Prompt, RenderedPrompt};
use compass_common::result::PromptFit;

/// What the prompts of one pack have in common.
pub(super) struct Prompting<'a> {
    pub(super) texts: &'a Texts<'a>,
    pub(super) profile: NumericProfile,
    pub(super) pack: &'a PackSpec,
    pub(super) settings: &'a Settings,
    /// Present where the model has a chat template to obey.
    pub(super) chat: Option<&'a ChatFormat>,
}

/// A message of a chat.
pub(super) fn message(role: &str, content: String) -> Message {
    Message { role: role.to_owned(), content }
}

impl Prompting<'_> {
    /// The model's meta template.
    pub(super) fn meta(&self) -> Option<&MetaTemplate> {
        self.pack.meta_template.as_ref()
    }

    /// The prompt of a sample, which goes through the chat template where the model has one.
    ///
    /// # Errors
    /// [`RunError::Sample`] when template or tokenizer fail, or there is no token to begin with.
    pub(super) fn prompt(&self, request: &Request<'_>, prompt: &Prompt) -> Result<(PromptFit, Vec<u32>), RunError> {
        let (kept, ids) = drop_shots(request.shots.len(), self.settings.limit, |kept| {
            let ids = match (request.render(prompt, kept, self.pack), self.chat) {
                (RenderedPrompt::Messages(messages), Some(chat)) => self.texts.encode_plain(&chat.text(&messages)?)?,
                // A text alone is what the user says (`_convert_chat_messages`).
                (RenderedPrompt::Text(text), Some(chat)) => {
                    self.texts.encode_plain(&chat.text(&[message("user", text)])?)?
                }
                (prompt, None) => self.encode(&as_text(prompt))?,
            };
            let length = ids.len();
            Ok((ids, length))
        })?;
        self.fitted(ids, kept)
    }

    /// The messages of a conversation.
    ///
    /// # Errors
    /// As [`Prompting::prompt`].
    pub(super) fn messages(&self, chat: &ChatFormat, messages: &[Message]) -> Result<(PromptFit, Vec<u32>), RunError> {
        self.fitted(self.texts.encode_plain(&chat.text(messages)?)?, 0)
    }

    /// A prompt that is text alone.
    ///
    /// # Errors
    /// As [`Prompting::prompt`].
    pub(super) fn text(&self, text: &str) -> Result<(PromptFit, Vec<u32>), RunError> {
        self.fitted(self.encode(text)?, 0)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, RunError> {
        match self.profile {
            NumericProfile::LmEvalHf => self.texts.encode_unless_prefixed(text),
            _ => self.texts.encode(text),
        }
    }

    /// The ids of a prompt with `kept` shots, cut to the limit; what is generated may go beyond, as with transformers.
    fn fitted(&self, mut ids: Vec<u32>, kept: usize) -> Result<(PromptFit, Vec<u32>), RunError> {
        if ids.is_empty() {
            ids.push(self.texts.prefix("the prompt is empty")?);
        }
        let fit = report(kept, ids.len(), self.settings.limit);
        // Chat templates write special tokens themselves, and lm-eval takes the last tokens as they are.
        let framed = self.chat.is_none() && self.profile != NumericProfile::LmEvalHf;
        self.texts.truncate(&mut ids, self.settings.limit, framed);
        Ok((fit, ids))
    }
}
