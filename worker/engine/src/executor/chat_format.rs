//! Formats messages for a chat model, and finds the texts that end its answers.

use super::answer::RunError;
use super::scoring_request::Bordered;
use crate::fault::file_fault;
use crate::tokenizer::{ChatError, ChatTemplate, ChatTemplates, TextTokenizer, render_chat};
use compass_plan::engine::EngineFault;
use compass_plan::prompt::Message;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The date for templates that use it: a run must not depend on the day on which a sample runs. The default of Llama
/// 3.1's own template.
const TODAY: jiff::civil::DateTime = jiff::civil::date(2024, 7, 26).at(0, 0, 0, 0);

/// A model's chat template with its variables.
#[derive(Debug)]
pub(super) struct ChatFormat {
    template: ChatTemplate,
    special: Map<String, Value>,
}

impl ChatFormat {
    /// Reads the template of the tokenizer's directory. `notes` receives a note if the template uses the date.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if there is none or it is not a template.
    pub(super) fn read(
        directory: &Path,
        tokenizer: &TextTokenizer,
        notes: &mut Vec<String>,
    ) -> Result<Self, EngineFault> {
        let templates = ChatTemplates::read(directory)?;
        let source =
            templates.choose(false).map_err(|none| file_fault(directory, format!("{none}; set chat = false")))?;
        if source.contains("strftime_now") {
            notes.push(format!("the chat template uses the date; it is always {}", TODAY.date()));
        }
        let template = ChatTemplate::new(source, TODAY).map_err(|error| file_fault(directory, error))?;
        Ok(Self { template, special: tokenizer.special_tokens_map() })
    }

    /// Returns the text for the model to continue: the messages and the start of its answer.
    ///
    /// # Errors
    /// [`RunError::Sample`] if the template rejects the messages.
    pub(super) fn text(&self, messages: &[Message]) -> Result<String, RunError> {
        self.render(messages, false).map_err(|error| RunError::Sample(error.to_string()))
    }

    /// Returns the text as lm-eval does: a started assistant message is continued, and a template that rejects a system
    /// message is applied without it.
    ///
    /// # Errors
    /// [`RunError::Sample`] if the template rejects the messages.
    pub(super) fn begun_text(&self, messages: &[Message]) -> Result<String, RunError> {
        let begun = messages.last().is_some_and(|last| last.role == "assistant");
        let rendered = self.render(messages, begun).or_else(|error| {
            let others: Vec<Message> = messages.iter().filter(|message| message.role != "system").cloned().collect();
            if others.len() == messages.len() { Err(error) } else { self.render(&others, begun) }
        });
        rendered.map_err(|error| RunError::Sample(error.to_string()))
    }

    /// Returns [`ChatFormat::begun_text`] with the borders behind the answers of shots: where the texts of other
    /// samples may diverge. Messages that the template changes have none.
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

/// Returns the stop texts of a chat model in addition to ids: the texts of the end tokens of generation_config.json and
/// of the tokenizer (`_get_potential_stop_words`).
pub(super) fn stop_texts(tokenizer: &TextTokenizer, eos: &[u32]) -> Vec<String> {
    let mut texts: Vec<String> = eos.iter().filter_map(|&id| tokenizer.decode_whole(&[id]).ok()).collect();
    texts.extend(tokenizer.eos_text(None));
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts
}
