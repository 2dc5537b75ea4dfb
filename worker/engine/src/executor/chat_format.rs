//! From messages to the text that a chat model is given, and what ends its answers.

use super::answer::RunError;
use super::scoring_request::Bordered;
use crate::fault::file_fault;
use crate::tokenizer::{ChatError, ChatTemplate, ChatTemplates, TextTokenizer, render_chat};
use compass_plan::engine::EngineFault;
use compass_plan::prompt::Message;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The day that a template is told, when it asks: a run must not depend on the day on which a sample happens to be run.
/// It is the one that Llama 3.1's own template falls back to.
const TODAY: jiff::civil::DateTime = jiff::civil::date(2024, 7, 26).at(0, 0, 0, 0);

/// A model's chat template with its variables.
#[derive(Debug)]
pub(super) struct ChatFormat {
    template: ChatTemplate,
    special: Map<String, Value>,
}

impl ChatFormat {
    /// Reads the template of the tokenizer's directory. `notes` receives that a template asks for the day.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when there is none or it is no template.
    pub(super) fn read(
        directory: &Path,
        tokenizer: &TextTokenizer,
        notes: &mut Vec<String>,
    ) -> Result<Self, EngineFault> {
        let templates = ChatTemplates::read(directory)?;
        let source =
            templates.choose(false).map_err(|none| file_fault(directory, format!("{none}; set chat = false")))?;
        if source.contains("strftime_now") {
            notes.push(format!("the chat template asks for the day; it is always told {}", TODAY.date()));
        }
        let template = ChatTemplate::new(source, TODAY).map_err(|error| file_fault(directory, error))?;
        Ok(Self { template, special: tokenizer.special_tokens_map() })
    }

    /// The text that the model is to go on from: the messages and the beginning of its answer.
    ///
    /// # Errors
    /// [`RunError::Sample`] when the template refuses the messages.
    pub(super) fn text(&self, messages: &[Message]) -> Result<String, RunError> {
        self.render(messages, false).map_err(|error| RunError::Sample(error.to_string()))
    }

    /// As [`ChatFormat::text`], as lm-eval has it: what the assistant has begun to say is continued, and a template that
    /// refuses a system message is asked again without it.
    ///
    /// # Errors
    /// [`RunError::Sample`] when the template refuses the messages.
    pub(super) fn begun_text(&self, messages: &[Message]) -> Result<String, RunError> {
        let begun = messages.last().is_some_and(|last| last.role == "assistant");
        let rendered = self.render(messages, begun).or_else(|error| {
            let others: Vec<Message> = messages.iter().filter(|message| message.role != "system").cloned().collect();
            if others.len() == messages.len() { Err(error) } else { self.render(&others, begun) }
        });
        rendered.map_err(|error| RunError::Sample(error.to_string()))
    }

    /// As [`ChatFormat::begun_text`], with the borders behind the answers of shots: where the texts of other samples may part
    /// from this one's. Messages that the template changes have none.
    ///
    /// # Errors
    /// As [`ChatFormat::begun_text`].
    pub(super) fn bordered(&self, messages: &[Message]) -> Result<Bordered, RunError> {
        let text = self.begun_text(messages)?;
        let shown = messages.split_last().map_or(&[][..], |(_, before)| before);
        let (mut borders, mut from) = (Vec::new(), 0);
        for message in shown {
            let Some(at) = text[from..].find(&message.content) else { continue };
            from += at + message.content.len();
            if message.role != "user" && from < text.len() && !message.content.is_empty() {
                borders.push(from);
            }
        }
        Ok(Bordered { text, borders })
    }

    fn render(&self, messages: &[Message], begun: bool) -> Result<String, ChatError> {
        let message = |message: &Message| json!({"role": message.role, "content": message.content});
        let messages: Vec<Value> = messages.iter().map(message).collect();
        render_chat(&self.template, &messages, !begun, begun, &self.special)
    }
}

/// What ends a chat model's answers beside ids: the texts of the end tokens that generation_config.json names, and of the
/// tokenizer's (`_get_potential_stop_words`).
pub(super) fn stop_texts(tokenizer: &TextTokenizer, eos: &[u32]) -> Vec<String> {
    let mut texts: Vec<String> = eos.iter().filter_map(|&id| tokenizer.decode_whole(&[id]).ok()).collect();
    texts.extend(tokenizer.eos_text(None));
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts
}
