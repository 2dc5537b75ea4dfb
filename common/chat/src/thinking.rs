//! Thinking as a chat template has it: the marks of its family, the switch, and the prompt that opens it.

use super::render::{ChatError, ChatTemplate, TODAY, render_chat};
use super::source::{ChatTemplates, special_tokens};
use compass_plan::{REST, Thinking, ThinkingMode};
use compass_postprocess::thinking::{Family, Marks, Opened};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Variables of templates that switch thinking, with the values for on and off.
const SWITCHES: [(&str, bool, bool); 2] = [("enable_thinking", true, false), ("thinking", true, false)];

/// Variable by which some templates grade thinking.
pub const EFFORT: &str = "reasoning_effort";

/// Values of [`EFFORT`] that are tried where a template is asked whether it knows the variable.
const EFFORTS: [&str; 4] = ["none", "low", "medium", "high"];

/// Message with which templates are tried.
const QUESTION: &str = "Hello.";

/// Thinking of one model, as its settings and its chat template have it together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatThinking {
    /// Marks by which texts are split; `None` where nothing is known of thinking.
    pub marks: Option<Marks>,
    /// Variables of the template: the configuration's, and the switch.
    pub kwargs: Map<String, Value>,
    /// Name of the variable that switches thinking, where there is one.
    pub switch: Option<&'static str>,
    /// Set if thinking is off and no variable does it: the prompt is continued by an empty block.
    pub appends_block: bool,
}

/// Reason that the settings of a model do not go with its template.
#[derive(Debug, thiserror::Error)]
pub enum ThinkingFault {
    #[error("the chat template has no marks of thinking")]
    NoMarks,
    #[error("`{key}` of `chat_template_kwargs` contradicts `thinking = \"{mode}\"`")]
    Contradiction { key: &'static str, mode: &'static str },
}

/// A template with the texts of its special tokens.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'t> {
    pub source: &'t str,
    pub template: &'t ChatTemplate,
    /// Texts of the special tokens by their roles (`bos_token`, ...).
    pub special: &'t Map<String, Value>,
}

impl ChatThinking {
    /// Resolves a model's settings with its template. Thinking that is `auto` asks for nothing: the template decides.
    ///
    /// # Errors
    /// [`ThinkingFault`] where the settings ask for what the template cannot do.
    pub fn resolve(probe: Probe<'_>, thinking: &Thinking, kwargs: &Map<String, Value>) -> Result<Self, ThinkingFault> {
        let family = Family::in_source(probe.source);
        let marks = thinking.marks.clone().or_else(|| family.map(Family::marks));
        let switch = probe.switch(kwargs, family);
        let mut resolved =
            Self { marks, kwargs: kwargs.clone(), switch: switch.as_ref().map(|(key, ..)| *key), appends_block: false };
        let (on, mode) = match thinking.mode {
            ThinkingMode::Auto => return Ok(resolved),
            ThinkingMode::On => (true, "on"),
            ThinkingMode::Off => (false, "off"),
        };
        if on && resolved.marks.is_none() {
            return Err(ThinkingFault::NoMarks);
        }
        match switch {
            Some((key, for_on, for_off)) => {
                let value = if on { for_on } else { for_off };
                if kwargs.get(key).is_some_and(|written| *written != value) {
                    return Err(ThinkingFault::Contradiction { key, mode });
                }
                resolved.kwargs.insert(key.to_owned(), value);
            }
            None => resolved.appends_block = !on && resolved.marks.is_some(),
        }
        Ok(resolved)
    }

    /// Finishes a rendered prompt whose last message has this text, and tells whether it leaves thinking open.
    pub fn finish(&self, text: &mut String, last: &str) -> Opened {
        let Some(marks) = &self.marks else { return Opened::No };
        let last = last.trim();
        let from = text.rfind(last).map_or(0, |at| at + last.len());
        let opened = marks.opened_by(&text[from..]);
        if !self.appends_block {
            return opened;
        }
        // A template that closes thinking by itself needs no second block.
        if opened == Opened::Yes || !marks.ends.iter().any(|end| text[from..].contains(end.trim_end())) {
            text.push_str(&marks.empty_block(opened == Opened::Yes));
        }
        Opened::No
    }
}

/// Thinking of the model whose tokenizer lies in a directory, by its chat template; `None` where that cannot be read here.
pub fn thinking_of(
    tokenizer: &Path,
    thinking: &Thinking,
    kwargs: &Map<String, Value>,
) -> Option<Result<ThinkingOfModel, ThinkingFault>> {
    let templates = ChatTemplates::read(tokenizer).ok()?;
    let source = templates.choose(false).ok()?;
    let template = ChatTemplate::new(source, TODAY).ok()?;
    let special = special_tokens(tokenizer);
    let probe = Probe { source, template: &template, special: &special };
    let resolved = match ChatThinking::resolve(probe, thinking, kwargs) {
        Ok(resolved) => resolved,
        Err(fault) => return Some(Err(fault)),
    };
    let mut text = probe.question(&resolved.kwargs).ok()?;
    let opened = resolved.finish(&mut text, QUESTION);
    Some(Ok(ThinkingOfModel { resolved, opened }))
}

/// Thinking of a model, and whether its prompts open it.
#[derive(Clone, Debug)]
pub struct ThinkingOfModel {
    pub resolved: ChatThinking,
    pub opened: Opened,
}

impl ThinkingOfModel {
    /// Describes marks, switch and budget; `None` where the model has none of them.
    pub fn describe(&self, thinking: &Thinking, max_out_len: u32) -> Option<String> {
        let marks = self.resolved.marks.as_ref()?;
        let opens = match self.opened {
            Opened::Yes => "prompts open it",
            Opened::No | Opened::Unknown => "prompts do not open it",
        };
        let switch = match (self.resolved.switch, self.resolved.appends_block) {
            (Some(key), _) => match self.resolved.kwargs.get(key) {
                Some(value) => format!("switch `{key}` = {value}"),
                None => format!("switch `{key}`, as the template has it"),
            },
            (None, true) => "off by an empty block".to_owned(),
            (None, false) => "no switch".to_owned(),
        };
        let lengths = match (thinking.budget, thinking.answer_tokens) {
            (Some(budget), answer) => {
                let answer = match answer.unwrap_or(max_out_len) {
                    REST => "what is left".to_owned(),
                    tokens => tokens.to_string(),
                };
                format!("at most {budget} tokens of thinking and {answer} of the answer")
            }
            (None, _) => "thinking and answer share `max_out_len`".to_owned(),
        };
        Some(format!("thinking between {:?} and {:?} ({opens}), {switch}; {lengths}", marks.start(), marks.end()))
    }
}

impl Probe<'_> {
    /// Renders a question with variables.
    ///
    /// # Errors
    /// The template's own.
    pub fn question(&self, kwargs: &Map<String, Value>) -> Result<String, ChatError> {
        self.render(&[json!({"role": "user", "content": QUESTION})], kwargs)
    }

    fn render(&self, messages: &[Value], kwargs: &Map<String, Value>) -> Result<String, ChatError> {
        let mut variables = self.special.clone();
        variables.extend(kwargs.clone());
        render_chat(self.template, messages, true, false, &variables)
    }

    /// Returns the variable that switches thinking, with its values for on and off.
    fn switch(&self, kwargs: &Map<String, Value>, family: Option<&Family>) -> Option<(&'static str, Value, Value)> {
        let graded = family.is_some_and(|family| family.name == "mistral");
        let efforts = graded.then(|| (EFFORT, json!("high"), json!("none")));
        let switches = SWITCHES.into_iter().map(|(key, on, off)| (key, json!(on), json!(off))).chain(efforts);
        switches.into_iter().find(|(key, on, off)| {
            let with = |value: &Value| {
                let mut variables = kwargs.clone();
                variables.insert((*key).to_owned(), value.clone());
                self.question(&variables).ok()
            };
            let (on, off) = (with(on), with(off));
            on.is_some() && off.is_some() && on != off
        })
    }

    /// Returns whether a variable has an effect: whether what is rendered differs with it, without it, or with another value.
    /// A template that raises an error for another value knows the variable.
    pub fn knows(&self, key: &str, kwargs: &Map<String, Value>) -> bool {
        let conversation: Vec<Value> =
            [("system", "Be kind."), ("user", "Hello."), ("assistant", "Yes."), ("user", "Go on.")]
                .map(|(role, content)| json!({"role": role, "content": content}))
                .into();
        let question = &conversation[1..2];
        let others: Vec<Option<Value>> = match kwargs.get(key) {
            Some(Value::Bool(value)) => vec![None, Some(json!(!value))],
            Some(Value::Number(_)) => vec![None, Some(json!(0)), Some(json!(1)), Some(json!(1 << 20))],
            _ => std::iter::once(None).chain(EFFORTS.map(|effort| Some(json!(effort)))).collect(),
        };
        [question, &conversation].iter().any(|messages| {
            let as_set = self.render(messages, kwargs).ok();
            others.iter().any(|other| {
                let mut variables = kwargs.clone();
                variables.remove(key);
                variables.extend(other.clone().map(|value| (key.to_owned(), value)));
                self.render(messages, &variables).ok() != as_set
            })
        })
    }
}
