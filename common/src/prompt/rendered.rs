//! What a model is given: a text, or messages for its chat template.

use super::flat;
use super::lm_text;
use super::messages;
use super::meta_template::{MetaStyle, MetaTemplate};
use super::shot::Shot;
use super::structured::{Prompt, ShotFormat};
use serde::{Deserialize, Serialize};

/// A prompt as one model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedPrompt {
    /// To be tokenised as it stands, special tokens added by the tokenizer's own rule.
    Text(String),
    /// For the model's chat template, or a service.
    Messages(Vec<Message>),
}

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

/// What the prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To be scored: all of it.
    Ppl,
    /// To be continued: it ends where the role that generates would begin to speak.
    Gen,
}

impl Prompt {
    /// The prompt for a model: OpenCompass's `parse_template` with the given shots in place.
    ///
    /// Without a meta template it is text. Never fails: what [`MetaTemplate::misfit`] would refuse is rendered as far as
    /// it can be.
    pub fn render_for(
        &self,
        shots: &[&Shot],
        format: &ShotFormat,
        meta: Option<&MetaTemplate>,
        mode: Mode,
    ) -> RenderedPrompt {
        let Some(meta) = meta else { return RenderedPrompt::Text(self.render(shots, format)) };
        let in_rounds = self.is_rounds();
        match meta.style {
            MetaStyle::Text if in_rounds => {
                RenderedPrompt::Text(lm_text::parse(&flat::flatten(self, shots, format), meta, mode))
            }
            MetaStyle::Text => RenderedPrompt::Text(self.render(shots, format)),
            MetaStyle::Messages if in_rounds => {
                RenderedPrompt::Messages(messages::parse(&flat::flatten(self, shots, format), meta, mode))
            }
            MetaStyle::Messages => RenderedPrompt::Messages(messages::of_text(self.render(shots, format))),
        }
    }
}

/// The shots alone, as OpenCompass shows "in-context examples": what ends them stays, and a meta template wraps them.
pub fn render_shots(shots: &[&Shot], format: &ShotFormat, meta: Option<&MetaTemplate>) -> RenderedPrompt {
    if shots.iter().all(|shot| matches!(shot, Shot::Text(_))) {
        return RenderedPrompt::Text(flat::inline_shots(shots, format));
    }
    let list = flat::flatten_shots(shots, format);
    match meta {
        None => RenderedPrompt::Text(flat::joined(&list)),
        Some(meta) if meta.style == MetaStyle::Text => RenderedPrompt::Text(lm_text::parse(&list, meta, Mode::Ppl)),
        Some(meta) => RenderedPrompt::Messages(messages::parse(&list, meta, Mode::Ppl)),
    }
}

impl RenderedPrompt {
    /// As OpenCompass prints it: the text, or its own list of `{role, prompt}` with `HUMAN`, `BOT` and `SYSTEM`.
    pub fn printed(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Messages(messages) => messages
                .iter()
                .map(
                    |message| serde_json::json!({"role": messages::api_role(&message.role), "prompt": message.content}),
                )
                .collect(),
        }
    }

    /// The prompt with a continuation: of a chat, as what the assistant says.
    #[must_use]
    pub fn continued(self, continuation: &str) -> Self {
        match self {
            Self::Text(text) => Self::Text(text + continuation),
            Self::Messages(mut messages) => {
                messages.push(Message { role: "assistant".into(), content: continuation.into() });
                Self::Messages(messages)
            }
        }
    }

    /// UTF-8 bytes of its words.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Messages(messages) => messages.iter().map(|message| message.content.len()).sum(),
        }
    }

    /// Unicode code points of its words.
    pub fn characters(&self) -> u64 {
        match self {
            Self::Text(text) => text.chars().count() as u64,
            Self::Messages(messages) => messages.iter().map(|message| message.content.chars().count() as u64).sum(),
        }
    }
}
