//! A compiled template; messages in, text out (`render_jinja_template` of transformers).

use super::environment::{REFUSAL, REFUSED, environment, is_python_space};
use super::generation_tag;
use compass_plan::prompt::{template_limits, with_percent_filters};
use jiff::civil::DateTime;
use minijinja::Environment;
use serde_json::{Map, Value};

/// The date for templates that use it: a run must not depend on the day on which a sample runs. The default of Llama 3.1's own
/// template.
pub const TODAY: DateTime = jiff::civil::date(2024, 7, 26).at(0, 0, 0, 0);

/// Tag that `continue_final_message` appends to find the position again, as in transformers.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// Reason why a chat cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The template is not Jinja, or uses an unsupported feature.
    #[error("cannot compile the chat template: {0}")]
    Syntax(String),
    /// The template itself rejects these messages (`raise_exception`), for example roles that do not alternate.
    #[error("the chat template refuses the messages: {0}")]
    Refused(String),
    /// It rejects messages of the system alone.
    #[error(
        "the chat template refuses the messages: {0}; `description` and system instructions are system messages: write \
         `system = \"user\"` in [[model]], which puts them before the user's, or take `profile = \"lm-eval-hf\"`, which \
         leaves a `description` out"
    )]
    RefusedSystem(String),
    /// The template failed on these messages.
    #[error("the chat template fails: {0}")]
    Failed(String),
    /// `continue_final_message` is impossible.
    #[error("{0}")]
    Continuation(&'static str),
}

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
}

const NAME: &str = "chat_template";

impl ChatTemplate {
    /// Compiles a template. `now` is the value of its `strftime_now`.
    ///
    /// # Errors
    /// [`ChatError::Syntax`].
    pub fn new(source: &str, now: DateTime) -> Result<Self, ChatError> {
        // Jinja reads every line break as " ".
        let source = generation_tag::strip(&source.replace("\r\n", "\n").replace('\r', "\n"));
        let source = with_percent_filters(&source).into_owned();
        let mut environment = environment(now);
        let added = template_limits::within(&source.clone(), || {
            environment.add_template_owned(NAME, source).map_err(|error| one_line(&error))
        });
        added.map_err(ChatError::Syntax)?;
        Ok(Self { environment })
    }
}

/// Returns the text of `messages`, byte-identical with transformers' `apply_chat_template(tokenize=False)`.
///
/// `extra` holds the other variables: `tools`, `documents`, the `special_tokens_map` (`bos_token`, ...) and
/// `chat_template_kwargs`. With `continue_final_message` the text ends where the content of the last message ends, so
/// that a model continues it.
///
/// # Errors
/// See [`ChatError`].
pub fn render_chat(
    template: &ChatTemplate,
    messages: &[Value],
    add_generation_prompt: bool,
    continue_final_message: bool,
    extra: &Map<String, Value>,
) -> Result<String, ChatError> {
    let mut messages = messages.to_vec();
    if !continue_final_message {
        return render(template, &messages, add_generation_prompt, extra);
    }
    if add_generation_prompt {
        return Err(ChatError::Continuation(
            "continue_final_message and add_generation_prompt exclude each other: one ends within the last message, \
             the other after it",
        ));
    }
    let last = messages.last_mut().and_then(final_text);
    let last =
        last.ok_or(ChatError::Continuation("continue_final_message is set, but the last message has no text"))?;
    let content = last.clone();
    last.push_str(TAG);
    let text = render(template, &messages, add_generation_prompt, extra)?;
    let place = text.rfind(TAG.trim()).filter(|_| text.contains(python_strip(&content)));
    let place = place.ok_or(ChatError::Continuation(
        "continue_final_message is set, but the chat template does not keep the last message",
    ))?;
    let kept = &text[..place];
    // If the template trims its messages, the text before the tag is trimmed too.
    Ok(if text[place..].starts_with(TAG) { kept } else { kept.trim_end_matches(is_python_space) }.to_owned())
}

/// Returns the text of a message: its content, or the last part of it that is text.
fn final_text(message: &mut Value) -> Option<&mut String> {
    let text = |value: &mut Value| matches!(value, Value::String(_));
    let place = match message.get_mut("content")? {
        Value::Array(parts) => parts.iter_mut().rev().find_map(|part| part.get_mut("text"))?,
        content => content,
    };
    if !text(place) {
        return None;
    }
    match place {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn render(
    template: &ChatTemplate,
    messages: &[Value],
    add_generation_prompt: bool,
    extra: &Map<String, Value>,
) -> Result<String, ChatError> {
    // Defined even without tools: templates test `tools is not none`.
    let mut variables = Map::from_iter([("tools".to_owned(), Value::Null), ("documents".to_owned(), Value::Null)]);
    variables.extend(extra.clone());
    variables.insert("messages".into(), Value::from(messages));
    variables.insert("add_generation_prompt".into(), add_generation_prompt.into());
    let compiled = template.environment.get_template(NAME).map_err(|error| ChatError::Syntax(one_line(&error)))?;
    let failed = |error: minijinja::Error| {
        let detail = error.detail().unwrap_or_default();
        match detail.strip_prefix(REFUSAL) {
            Some(message) if error.kind() == REFUSED => ChatError::Refused(message.to_owned()),
            _ => ChatError::Failed(one_line(&error)),
        }
    };
    // The outer error is that of the limits, the inner one the template's own.
    let rendered = template_limits::within(compiled.source(), || Ok(compiled.render(&variables).map_err(failed)));
    rendered.unwrap_or_else(|limit| Err(ChatError::Failed(limit)))
}

/// Returns an error in one line.
fn one_line(error: &minijinja::Error) -> String {
    if let Some(exhausted) = template_limits::exhausted(error) {
        return exhausted;
    }
    let text = error.to_string();
    text.lines().next().unwrap_or("no reason was given").to_owned()
}

fn python_strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}
