//! Converts the prompt of a sample to the ids for the model to continue.

use super::answer::RunError;
use super::bordered::Bordered;
use super::fit::{fit_shots, report};
use super::prefix_tokens::{EncodeMode, PrefixTokens};
use super::settings::Settings;
use super::texts::Texts;
use compass_chat::{ChatFormat, RenderedChat};
use compass_plan::engine::{BatchSpec, Caller, Request};
use compass_plan::prompt::{Message, MetaTemplate, Prompt, RenderedPrompt};
use compass_plan::{DropMiddle, NumericProfile};
use compass_postprocess::thinking::Opened;
use compass_types::result::PromptFit;

/// Context that the prompts of one batch have in common.
pub(super) struct Prompting<'a> {
    pub(super) texts: &'a Texts<'a>,
    pub(super) profile: NumericProfile,
    pub(super) spec: &'a BatchSpec,
    pub(super) settings: &'a Settings,
    /// Present if the model has a chat template and uses it.
    pub(super) chat: Option<&'a ChatFormat>,
    pub(super) prefix_tokens: &'a PrefixTokens,
}

/// A prompt in tokens.
#[derive(Debug)]
pub(super) struct Prompted {
    pub(super) fit: PromptFit,
    pub(super) ids: Vec<u32>,
    /// Positions of its structural borders among the tokens, as far as known.
    pub(super) borders: Vec<usize>,
    /// The text that the chat template made, where there is one.
    pub(super) rendered: Option<String>,
    /// Thinking at its end.
    pub(super) opened: Opened,
}

impl Prompted {
    fn rendered_as(self, chat: Option<RenderedChat>) -> Self {
        let opened = chat.as_ref().map_or(Opened::No, |chat| chat.opened);
        Self { rendered: chat.map(|chat| chat.text), opened, ..self }
    }
}

/// Creates a message of a chat.
pub(super) fn message(role: &str, content: String) -> Message {
    Message { role: role.to_owned(), content }
}

impl Prompting<'_> {
    /// Returns the model's meta template.
    pub(super) fn meta(&self) -> Option<&MetaTemplate> {
        self.spec.meta_template.as_ref()
    }

    /// Returns the prompt of a sample, through the chat template if the model has one.
    ///
    /// # Errors
    /// [`RunError::Sample`] if template or tokenizer fail, or no token is available to start with.
    pub(super) fn prompt(&self, request: &Request<'_>, prompt: &Prompt) -> Result<Prompted, RunError> {
        let limit = self.texts.shot_limit(self.texts.limit);
        let (kept, (ids, text, chat)) = fit_shots(self.profile, request.shots.len(), limit, |kept| {
            let (ids, text, chat) = match self.chat {
                Some(chat) => {
                    let messages = match request.render(prompt, kept, self.spec) {
                        RenderedPrompt::Messages(messages) => messages,
                        // A plain text is a user's message (`_convert_chat_messages`).
                        RenderedPrompt::Text(text) => vec![message("user", text)],
                    };
                    let caller = request.caller.as_deref();
                    let chat = match prompt.is_rounds() {
                        true => chat.text(&messages, caller)?,
                        false => chat.begun_text(&messages, caller)?,
                    };
                    let ids = match self.profile {
                        NumericProfile::LmEvalHf => self.texts.encode_unless_prefixed(&chat.text)?,
                        _ => self.texts.encode_plain(&chat.text)?,
                    };
                    (ids, None, Some(chat))
                }
                None if request.caller.as_ref().is_some_and(|caller| caller.is_whole) => {
                    let text = Bordered::of(request, prompt, kept, self.spec);
                    (self.texts.encode_plain(&text.text)?, None, None)
                }
                None => {
                    let text = Bordered::of(request, prompt, kept, self.spec);
                    (self.prefix_tokens.encode(self.texts, &text, self.encode_mode())?, Some(text), None)
                }
            };
            let length = ids.len();
            Ok(((ids, text, chat), length))
        })?;
        let mut prompted = self.fitted(ids, kept)?.rendered_as(chat);
        if let Some(text) = text.filter(|_| prompted.fit.truncated_from == 0) {
            prompted.borders = self.prefix_tokens.cuts(self.texts, &text, &prompted.ids, self.encode_mode())?;
        }
        Ok(prompted)
    }

    /// Returns the prompt of a conversation.
    ///
    /// # Errors
    /// As [`Prompting::prompt`].
    pub(super) fn messages(
        &self,
        chat: &ChatFormat,
        messages: &[Message],
        caller: Option<&Caller>,
    ) -> Result<Prompted, RunError> {
        let chat = chat.text(messages, caller)?;
        Ok(self.fitted(self.texts.encode_plain(&chat.text)?, 0)?.rendered_as(Some(chat)))
    }

    /// Returns the prompt of a plain text.
    ///
    /// # Errors
    /// As [`Prompting::prompt`].
    pub(super) fn text(&self, text: &str) -> Result<Prompted, RunError> {
        self.fitted(self.encode_mode().encode(self.texts, text)?, 0)
    }

    fn encode_mode(&self) -> EncodeMode {
        match self.profile {
            NumericProfile::LmEvalHf => EncodeMode::UnlessPrefixed,
            _ => EncodeMode::Framed,
        }
    }

    /// Shortens a prompt that is too long to the settings' limit.
    fn shorten(&self, ids: &mut Vec<u32>, framed: bool) -> Result<(), RunError> {
        let limit = self.settings.limit;
        let half = limit / 2;
        match self.texts.drop_middle {
            // `HuggingFacewithChatTemplate`: what its tokenizer left of the prompt loses its middle.
            Some(DropMiddle::Tokens) if self.settings.reserves_answer => {
                self.texts.truncate_side(ids, self.texts.limit, framed);
                if ids.len() > limit {
                    ids.drain(half..ids.len() - half);
                }
            }
            // `HuggingFaceCausalLM`, `VLLM`: halves as texts, which may have other tokens at the joint.
            Some(DropMiddle::Texts) => {
                let (front, back) = (&ids[..half], &ids[ids.len() - half..]);
                let text = self.texts.tokenizer.decode(front)? + &self.texts.tokenizer.decode(back)?;
                *ids = if self.chat.is_some() {
                    self.texts.encode_plain(&text)?
                } else {
                    self.encode_mode().encode(self.texts, &text)?
                };
                self.texts.truncate_side(ids, limit, framed);
            }
            _ => self.texts.truncate(ids, limit, framed),
        }
        Ok(())
    }

    /// Truncates the ids of a prompt with `kept` shots to the limit; the generation may exceed it, as with
    /// transformers.
    fn fitted(&self, mut ids: Vec<u32>, kept: usize) -> Result<Prompted, RunError> {
        if ids.is_empty() {
            ids.push(self.texts.prefix("the prompt is empty")?);
        }
        let mut fit = report(kept, ids.len(), self.settings.limit);
        // Chat templates write special tokens themselves, and lm-eval takes the last tokens unchanged.
        let framed = self.chat.is_none() && self.profile != NumericProfile::LmEvalHf;
        if fit.truncated_from > 0 {
            self.shorten(&mut ids, framed)?;
            fit.tokens = ids.len() as u32;
        }
        Ok(Prompted { fit, ids, borders: Vec::new(), rendered: None, opened: Opened::No })
    }
}
