//! Messages of a model as its chat template renders them, with the settings of its plan.

use super::render::{ChatError, ChatTemplate, TODAY, render_chat};
use super::source::{ChatTemplates, FileFault, NoTemplate};
use super::thinking::{ChatThinking, Probe, ThinkingFault};
use compass_plan::engine::{Caller, EngineFault};
use compass_plan::prompt::{Message, system_as_user};
use compass_plan::{ModelPlan, NumericProfile, RefusedSystem, Thinking, ThinkingMode};
use compass_postprocess::thinking::{Marks, Opened};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;

/// Reason that a model's chat template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatFault {
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("{0}; set chat = false")]
    Missing(#[from] NoTemplate),
    #[error(transparent)]
    Template(#[from] ChatError),
    #[error(transparent)]
    Thinking(#[from] ThinkingFault),
}

impl FormatFault {
    /// Returns the fault of a model with its tokenizer in `directory`.
    pub fn of_model(self, directory: &Path) -> EngineFault {
        match self {
            Self::File(fault @ FileFault::Unreadable { .. }) => EngineFault::Missing(fault.to_string()),
            Self::File(fault) => EngineFault::Model(fault.to_string()),
            fault => EngineFault::Model(format!("{}: {fault}", directory.display())),
        }
    }
}

/// A model's chat template with its variables.
#[derive(Debug)]
pub struct ChatFormat {
    source: String,
    template: ChatTemplate,
    special: Map<String, Value>,
    system: SystemMessages,
    /// Thinking of answers.
    thinking: ChatThinking,
    /// The same switched off, for continuations that are scored.
    unthinking: ChatThinking,
}

/// A prompt as the template renders it.
#[derive(Debug)]
pub struct RenderedChat {
    pub text: String,
    /// Thinking at its end.
    pub opened: Opened,
}

/// Treatment of system messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SystemMessages {
    /// The template gets them.
    AsTheyAre,
    /// It refuses them: they are put before the user's text.
    BeforeUser,
    /// It refuses them, and prompts that are not OpenCompass's do without, as in lm-eval.
    LeftOut,
}

impl ChatFormat {
    /// Reads the template in the tokenizer's directory of `plan`; `special` holds the texts of the tokenizer's special tokens by their
    /// roles. `notes` receives a note if the template uses the date, or if it refuses system messages and the plan places them
    /// elsewhere or leaves them out.
    ///
    /// # Errors
    /// [`FormatFault`] if the template is missing or malformed, or the plan asks for a thinking that it does not have.
    pub fn read(plan: &ModelPlan, special: Map<String, Value>, notes: &mut Vec<String>) -> Result<Self, FormatFault> {
        let templates = ChatTemplates::read(Path::new(&plan.tokenizer_path))?;
        let source = templates.choose(false)?;
        if source.contains("strftime_now") {
            notes.push(format!("the chat template uses the date; it is always {}", TODAY.date()));
        }
        let template = ChatTemplate::new(source, TODAY)?;
        let probe = Probe { source, template: &template, special: &special };
        let resolve = |mode: ThinkingMode| {
            let wanted = Thinking { mode, ..plan.thinking.clone() };
            ChatThinking::resolve(probe, &wanted, &plan.chat_template_kwargs)
        };
        let thinking = resolve(plan.thinking.mode)?;
        // Peers score continuations behind the prompt as it is.
        let unthinking = match plan.profile {
            NumericProfile::Canonical => resolve(ThinkingMode::Off).unwrap_or_else(|_| thinking.clone()),
            NumericProfile::Opencompass | NumericProfile::LmEvalHf => thinking.clone(),
        };
        let format = Self {
            source: source.to_owned(),
            template,
            special,
            system: SystemMessages::AsTheyAre,
            thinking,
            unthinking,
        };
        let system = match (plan.system, plan.profile) {
            (RefusedSystem::User, _) if format.refuses_system() => SystemMessages::BeforeUser,
            (RefusedSystem::Fails, NumericProfile::LmEvalHf) if format.refuses_system() => SystemMessages::LeftOut,
            _ => SystemMessages::AsTheyAre,
        };
        let note = match system {
            SystemMessages::AsTheyAre => None,
            SystemMessages::BeforeUser => Some(
                "the chat template refuses system messages: they stand before the user's, as `system = \"user\"` asks",
            ),
            SystemMessages::LeftOut => Some(
                "the chat template refuses system messages: profile lm-eval-hf leaves them out, as lm-eval does, and no \
                 `description` or system instruction is asked",
            ),
        };
        notes.extend(note.map(str::to_owned));
        Ok(Self { system, ..format })
    }

    /// Returns whether the template takes a user's message, and not with a system message before it.
    fn refuses_system(&self) -> bool {
        let [system, user] =
            ["system", "user"].map(|role| Message { role: role.to_owned(), content: "Hello.".to_owned() });
        let takes = |messages: &[Message]| self.render(messages, false, &self.thinking).is_ok();
        takes(std::slice::from_ref(&user)) && !takes(&[system, user])
    }

    /// Returns the text for the model to continue: the messages and the start of its answer.
    ///
    /// # Errors
    /// [`ChatError`] if the template rejects the messages.
    pub fn text(&self, messages: &[Message], caller: Option<&Caller>) -> Result<RenderedChat, ChatError> {
        self.asked(messages, &asked_by(&self.thinking, caller))
    }

    /// As [`ChatFormat::text`], with thinking switched off: what is scored behind it is an answer.
    ///
    /// # Errors
    /// [`ChatError`] if the template rejects the messages.
    pub fn scored_text(&self, messages: &[Message]) -> Result<String, ChatError> {
        Ok(self.asked(messages, &self.unthinking)?.text)
    }

    fn asked(&self, messages: &[Message], thinking: &ChatThinking) -> Result<RenderedChat, ChatError> {
        let placed = match self.system {
            SystemMessages::BeforeUser => Cow::Owned(system_as_user(messages)),
            SystemMessages::AsTheyAre | SystemMessages::LeftOut => Cow::Borrowed(messages),
        };
        self.render(&placed, false, thinking).map_err(|error| self.failure(error, messages))
    }

    /// Adds the remedy if the template refuses the system's message.
    fn failure(&self, error: ChatError, messages: &[Message]) -> ChatError {
        let has_system = messages.iter().any(|message| message.role == "system");
        match error {
            ChatError::Refused(why) if has_system && self.refuses_system() => ChatError::RefusedSystem(why),
            error => error,
        }
    }

    /// Returns the text as lm-eval does: a started assistant message is continued. Messages are passed as requested: a system
    /// message is left out under lm-eval's profile alone.
    ///
    /// # Errors
    /// [`ChatError`] if the template rejects the messages.
    pub fn begun_text(&self, messages: &[Message], caller: Option<&Caller>) -> Result<RenderedChat, ChatError> {
        self.begun(messages, &asked_by(&self.thinking, caller))
    }

    fn begun(&self, messages: &[Message], thinking: &ChatThinking) -> Result<RenderedChat, ChatError> {
        let begun = messages.last().is_some_and(|last| last.role == "assistant");
        let placed = match self.system {
            SystemMessages::AsTheyAre => Cow::Borrowed(messages),
            SystemMessages::BeforeUser => Cow::Owned(system_as_user(messages)),
            SystemMessages::LeftOut => messages.iter().filter(|message| message.role != "system").cloned().collect(),
        };
        self.render(&placed, begun, thinking).map_err(|error| self.failure(error, messages))
    }

    /// Returns [`ChatFormat::begun_text`] with the offsets in bytes behind the answers of shots: where the texts of other
    /// samples may diverge. Messages that the template changes have none. Thinking is off: what is scored is an answer.
    ///
    /// # Errors
    /// As [`ChatFormat::begun_text`].
    pub fn bordered(&self, messages: &[Message]) -> Result<(String, Vec<usize>), ChatError> {
        let RenderedChat { text, .. } = self.begun(messages, &self.unthinking)?;
        let shown = messages.split_last().map_or(&[][..], |(_, before)| before);
        let (mut borders, mut from) = (Vec::new(), 0);
        for message in shown {
            let Some(at) = text[from..].find(&message.content) else { continue };
            from += at + message.content.len();
            if message.role != "user" && from < text.len() && !message.content.is_empty() {
                borders.push(from);
            }
        }
        Ok((text, borders))
    }

    fn render(&self, messages: &[Message], begun: bool, thinking: &ChatThinking) -> Result<RenderedChat, ChatError> {
        let message = |message: &Message| json!({"role": message.role, "content": message.content});
        let values: Vec<Value> = messages.iter().map(message).collect();
        let mut variables = self.special.clone();
        variables.extend(thinking.kwargs.clone());
        let mut text = render_chat(&self.template, &values, !begun, begun, &variables)?;
        let opened = match begun {
            true => Opened::No,
            false => thinking.finish(&mut text, messages.last().map_or("", |last| &last.content)),
        };
        Ok(RenderedChat { text, opened })
    }

    /// Returns whether continuations are scored behind other prompts than answers have.
    pub fn switches_off(&self) -> bool {
        self.thinking != self.unthinking
    }

    /// Returns the template as it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the marks of thinking, if the template or the configuration has any.
    pub fn marks(&self) -> Option<&Marks> {
        self.thinking.marks.as_ref()
    }
}

/// Returns a model's thinking with the variables of a client that asks by itself.
fn asked_by<'t>(thinking: &'t ChatThinking, caller: Option<&Caller>) -> Cow<'t, ChatThinking> {
    match caller.map(Caller::variables).filter(|variables| !variables.is_empty()) {
        None => Cow::Borrowed(thinking),
        Some(variables) => {
            let mut own = thinking.clone();
            own.kwargs.extend(variables.clone());
            Cow::Owned(own)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SYSTEM: &str = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
                             {% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

    fn format(system: SystemMessages) -> ChatFormat {
        let template = ChatTemplate::new(NO_SYSTEM, TODAY).unwrap();
        let [thinking, unthinking] = Default::default();
        ChatFormat { source: NO_SYSTEM.into(), template, special: Map::new(), system, thinking, unthinking }
    }

    fn messages() -> Vec<Message> {
        [("system", "Answer with one digit."), ("user", "1+1=")]
            .map(|(role, content)| Message { role: role.into(), content: content.into() })
            .into()
    }

    #[test]
    fn a_system_message_that_is_refused_is_not_left_out_without_a_word() {
        let as_they_are = format(SystemMessages::AsTheyAre);
        assert!(as_they_are.refuses_system());
        for refused in [as_they_are.begun_text(&messages(), None), as_they_are.text(&messages(), None)] {
            let why = refused.unwrap_err().to_string();
            assert!(why.starts_with("the chat template refuses the messages: System role not supported; "), "{why}");
            assert!(why.contains("write `system = \"user\"` in [[model]]"), "{why}");
        }
        assert_eq!(
            as_they_are.begun_text(&messages()[1..], None).ok().map(|chat| chat.text).as_deref(),
            Some("user: 1+1=\n")
        );
        let left_out = format(SystemMessages::LeftOut);
        assert_eq!(
            left_out.begun_text(&messages(), None).ok().map(|chat| chat.text).as_deref(),
            Some("user: 1+1=\n"),
            "as lm-eval"
        );
    }

    #[test]
    fn a_system_message_that_is_refused_stands_before_the_users_where_asked() {
        let placed = format(SystemMessages::BeforeUser);
        let expected = Some("user: Answer with one digit.\n\n1+1=\n");
        assert_eq!(placed.begun_text(&messages(), None).ok().map(|chat| chat.text).as_deref(), expected);
        assert_eq!(placed.text(&messages(), None).ok().map(|chat| chat.text).as_deref(), expected);
        assert_eq!(placed.bordered(&messages()).ok().map(|(text, _)| text).as_deref(), expected);
    }
}
