//! `thinking` and `chat_template_kwargs` of a model, and what its chat template says of both.

use crate::keys::vocabulary::{AT_BUDGET, THINKING_MODES, UNFINISHED, efforts, families};
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, any_table, literal, one_or_several, table, text};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Value};
use compass_chat::{ChatTemplate, ChatTemplates, ChatThinking, EFFORT, Probe, TODAY, ThinkingFault, special_tokens};
use compass_diagnostic::spelling;
use compass_plan::{AtBudget, EndpointApi, NumericProfile, REST, Thinking, ThinkingMode};
use compass_postprocess::thinking::{AnswerMarks, Family, Marks};
use serde_json::{Map, Value as Json};
use std::path::Path;

pub(crate) static THINKING: TableKeys = TableKeys {
    name: "thinking",
    title: "`thinking`",
    keys: &[
        key(
            "mode",
            Kind::Choice(|| THINKING_MODES.words()),
            "switches thinking; `auto`: as the chat template has it, and answers are told apart from it under `profile = \"canonical\"`",
        )
        .default("`auto`"),
        key("effort", Kind::Choice(efforts), "`reasoning_effort` of the chat template, or of the endpoint").default("the model's"),
        key(
            "marks",
            Kind::Either(&[Kind::Choice(families), Kind::Table(&MARKS)]),
            "texts around the thinking: a family's, or as written",
        )
        .takes("family or table")
        .default("those of the chat template"),
        key(
            "budget",
            Kind::from(1),
            "most tokens of thinking, with `max_out_len` for the answer alone; without it both share `max_out_len`. An endpoint must be \
             able to hold it ([endpoints](thinking.md#endpoints))",
        )
        .default("none"),
        key("answer_tokens", Kind::from(1), "most tokens of the answer").default("`max_out_len` of the data set"),
        key(
            "at_budget",
            Kind::Either(&[Kind::Choice(|| AT_BUDGET.words()), Kind::Table(&FORCE)]),
            "`force`: a sentence and the end mark are put behind the thinking, and the model answers; `cut`: there is no answer",
        )
        .takes("`\"force\"`, `\"cut\"` or table")
        .default("`force`"),
        key("extend", Kind::from(0), "number of end marks before the budget that give way to `Wait`").default("0"),
        key("unfinished", Kind::Choice(|| UNFINISHED.words()), "what an answer counts whose thinking did not end").default("`wrong`"),
        key("keep", Kind::from(2), "most characters of a thinking in `predictions/`, half of them from each end").default("all"),
    ],
    types: &[],
};

pub(crate) static MARKS: TableKeys = TableKeys {
    name: "thinking.marks",
    title: "`marks`",
    keys: &[
        key("start", Kind::Either(&[Kind::Text, Kind::Texts]), "begins the thinking")
            .takes("string or strings")
            .required(),
        key("end", Kind::Either(&[Kind::Text, Kind::Texts]), "ends it").takes("string or strings").required(),
        key("answer", Kind::Texts, "stand before and behind the answer").takes("two strings").default("none"),
    ],
    types: &[],
};

pub(crate) static FORCE: TableKeys = TableKeys {
    name: "thinking.at_budget",
    title: "`at_budget`",
    keys: &[key("text", Kind::Text, "stands behind the thinking, before the end mark").default("Qwen's sentence")],
    types: &[],
};

/// Variables that the renderer sets itself.
const RESERVED: [&str; 7] =
    ["messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template", "tokenize"];

/// Settings of a model's thinking as read, with their places.
pub(crate) struct Read<'t> {
    pub(crate) thinking: Thinking,
    pub(crate) kwargs: Map<String, Json>,
    /// Place of `thinking`.
    at: Option<&'t Node>,
    /// Place of `chat_template_kwargs`.
    kwargs_at: Option<&'t Node>,
    effort: Option<Span>,
}

/// Reads both keys; `None` when something is wrong, which is reported.
pub(crate) fn read<'t>(check: &mut Check, fields: &mut Fields<'t>) -> Option<Read<'t>> {
    let at = fields.get("thinking").filter(|node| !node.is_empty());
    let kwargs_at = fields.get("chat_template_kwargs").filter(|node| !node.is_empty());
    let mut read = Read { thinking: Thinking::default(), kwargs: Map::new(), at, kwargs_at, effort: None };
    let mut right = kwargs_at.is_none_or(|node| read_kwargs(check, node, &mut read.kwargs));
    match at {
        None => {}
        Some(node) if node.text().is_some() => match THINKING_MODES.pick(check, "thinking", node) {
            Some(mode) => read.thinking.mode = mode,
            None => right = false,
        },
        Some(node) => right &= read_table(check, node, &mut read).is_some(),
    }
    right.then_some(read)
}

fn read_kwargs(check: &mut Check, node: &Node, kwargs: &mut Map<String, Json>) -> bool {
    let Some(table) = any_table(check, "chat_template_kwargs", node) else { return false };
    let mut right = true;
    for entry in &table.entries {
        let name = entry.key.as_str();
        if RESERVED.contains(&name) || name.ends_with("_token") {
            let message = format!("`{name}` of `chat_template_kwargs` is set by the renderer");
            let help = "remove it: messages and special tokens are the prompt's and the tokenizer's own";
            check.error(entry.key_span, message, Some(help.into()));
            right = false;
            continue;
        }
        match literal(check, name, &entry.node) {
            Some(value) => {
                kwargs.insert(name.to_owned(), value);
            }
            None => right = false,
        }
    }
    right
}

fn read_table(check: &mut Check, node: &Node, read: &mut Read<'_>) -> Option<()> {
    let mut fields = table(check, "thinking", node, &THINKING)?;
    let thinking = &mut read.thinking;
    let mut right = true;
    if let Some(node) = fields.get("mode") {
        let mode = THINKING_MODES.pick(check, "mode", node);
        right &= mode.is_some();
        thinking.mode = mode.unwrap_or_default();
    }
    if let Some(node) = fields.get("effort") {
        right &= effort(check, node, &mut read.kwargs).is_some();
        read.effort = Some(node.span);
    }
    if let Some(node) = fields.get("marks") {
        thinking.marks = marks(check, node);
        right &= thinking.marks.is_some();
    }
    for (key, place) in [("budget", &mut thinking.budget), ("answer_tokens", &mut thinking.answer_tokens)] {
        *place = fields.u32(check, key);
        right &= place.is_some() == fields.table.get(key).is_some();
    }
    if let Some(node) = fields.get("at_budget") {
        let read = at_budget(check, node);
        right &= read.is_some();
        thinking.at_budget = read.unwrap_or_default();
    }
    thinking.extend = fields.u32(check, "extend").unwrap_or_default();
    if let Some(node) = fields.get("unfinished") {
        let unfinished = UNFINISHED.pick(check, "unfinished", node);
        right &= unfinished.is_some();
        thinking.unfinished = unfinished.unwrap_or_default();
    }
    thinking.keep = fields.u32(check, "keep");
    for (key, is_without) in [("at_budget", thinking.budget.is_none()), ("extend", thinking.budget.is_none())] {
        if let (true, Some(node)) = (is_without, fields.table.get(key)) {
            let help = "write `budget`, the most tokens of thinking, or remove it";
            check.error(node.span, format!("`{key}` without a `budget`"), Some(help.into()));
            right = false;
        }
    }
    fields.finish(check);
    right.then_some(())
}

fn effort(check: &mut Check, node: &Node, kwargs: &mut Map<String, Json>) -> Option<()> {
    let written = text(check, "effort", node)?;
    let known = efforts().names;
    if !known.contains(&written) {
        let help = format!("write one of {}", spelling::list(&known));
        check.error(node.span, format!("`effort` cannot be `{written}`"), Some(help));
        return None;
    }
    if kwargs.contains_key(EFFORT) {
        let message = format!("`effort` beside `{EFFORT}` of `chat_template_kwargs`");
        check.error(node.span, message, Some("remove one of them".into()));
        return None;
    }
    kwargs.insert(EFFORT.to_owned(), written.into());
    Some(())
}

fn marks(check: &mut Check, node: &Node) -> Option<Marks> {
    if let Some(name) = node.text() {
        let family = Family::named(name);
        if family.is_none() {
            let names = families().names;
            let help = match spelling::nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of {}, or {{ start = \"...\", end = \"...\" }}", spelling::list(&names)),
            };
            check.error(node.span, format!("no family of models is called `{name}`"), Some(help));
        }
        return family.map(Family::marks);
    }
    let mut fields = table(check, "marks", node, &MARKS)?;
    let spellings = |check: &mut Check, fields: &mut Fields<'_>, key: &'static str| {
        let node = fields.require(check, key, "\"<think>\"")?;
        let texts: Option<Vec<String>> =
            one_or_several(node).iter().map(|item| text(check, key, item).map(str::to_owned)).collect();
        let texts = texts?;
        if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
            let help = "write the text that the model writes, as in \"</think>\"";
            check.error(node.span, format!("`{key}` is empty"), Some(help.into()));
            return None;
        }
        Some(texts)
    };
    let starts = spellings(check, &mut fields, "start");
    let ends = spellings(check, &mut fields, "end");
    let answer = match fields.texts(check, "answer") {
        None => None,
        Some(texts) => match <[_; 2]>::try_from(texts) {
            Ok([(open, _), (close, _)]) if !open.is_empty() && !close.is_empty() => Some(AnswerMarks { open, close }),
            _ => {
                let help =
                    "write the text before the answer and the one behind it: `answer = [\"<answer>\", \"</answer>\"]`";
                check.error(node.span, "`answer` is not two texts".into(), Some(help.into()));
                return None;
            }
        },
    };
    fields.finish(check);
    let (starts, ends) = (starts?, ends?);
    if let Some(same) = starts.iter().find(|start| ends.contains(start)) {
        let help = "no reader could tell where the thinking ends: write another `end`";
        check.error(node.span, format!("`start` and `end` are both `{same}`"), Some(help.into()));
        return None;
    }
    Some(Marks { starts, ends, answer })
}

fn at_budget(check: &mut Check, node: &Node) -> Option<AtBudget> {
    if node.table().is_none() {
        return AT_BUDGET
            .pick(check, "at_budget", node)
            .map(|force| if force { AtBudget::default() } else { AtBudget::Cut });
    }
    let mut fields = table(check, "at_budget", node, &FORCE)?;
    let written = fields.text(check, "text").map(str::to_owned);
    fields.finish(check);
    Some(written.map_or_else(AtBudget::default, |text| AtBudget::Force { text }))
}

/// Parts of a model by which its thinking is judged.
pub(crate) struct Judged<'m> {
    pub(crate) abbr: &'m str,
    /// Set if prompts go through the chat template of a tokenizer here.
    pub(crate) has_template: bool,
    /// Protocol of the endpoint, where there is one.
    pub(crate) endpoint: Option<EndpointApi>,
    pub(crate) tokenizer: &'m Path,
    pub(crate) profile: NumericProfile,
    /// Longest input and answer together, as far as it is written.
    pub(crate) context: Option<u32>,
    pub(crate) max_out_len: u32,
}

impl Read<'_> {
    /// Judges the settings by the model's own chat template; returns `false` when something is wrong, which is reported.
    pub(crate) fn judge(&self, check: &mut Check, model: &Judged<'_>) -> bool {
        let written = self.at.map(|node| node.span);
        let Some(span) = written.or(self.kwargs_at.map(|node| node.span)) else { return true };
        let name = format!("model `{}`", model.abbr);
        let wrong = |check: &mut Check, span: Span, message: String, help: String| {
            check.error(span, message, Some(help));
            false
        };
        if let (Some(span), false) = (written, model.profile == NumericProfile::Canonical) {
            let help = "remove it: a peer's profile gives the peer's numbers, which split no text; switches of the template are \
                        `chat_template_kwargs`, and `profile = \"canonical\"` has budgets";
            return wrong(check, span, "`thinking` under a peer's profile".into(), help.into());
        }
        if model.endpoint == Some(EndpointApi::Completions) && !model.has_template {
            let message = format!("{name} is asked with texts, which pass no chat template");
            let help = "write `api = \"chat\"` of the endpoint, or `tokenizer_path`, whose chat template then renders prompts before \
                        they are sent, or remove the key";
            return wrong(check, span, message, help.into());
        }
        let ends_otherwise = self.thinking.at_budget != AtBudget::default() || self.thinking.extend > 0;
        if let (Some(EndpointApi::Chat), true, Some(span)) = (model.endpoint, ends_otherwise, written) {
            let message = format!("`at_budget` or `extend` of {name}, whose server ends the thinking in its own way");
            let help =
                "remove them, or write `api = \"completions\"` with `tokenizer_path`: the thinking is then ended here";
            return wrong(check, span, message, help.into());
        }
        if !model.has_template && model.endpoint.is_none() {
            let message = format!("{name} has no chat template in its prompts, and nothing to switch");
            return wrong(check, span, message, "write `chat = true`, or remove the key".into());
        }
        if let (Some(context), Some(budget)) = (model.context, self.thinking.budget) {
            let answer = match self.thinking.answer_tokens.unwrap_or(model.max_out_len) {
                REST => 1,
                answer => answer,
            };
            if u64::from(budget) + u64::from(answer) + 1 > u64::from(context) {
                let message = format!(
                    "{budget} tokens of thinking, {answer} of the answer and a prompt exceed the {context} of {name}"
                );
                let help = "lower `budget` or the length of the answer, or raise `max_seq_len`";
                return wrong(check, span, message, help.into());
            }
        }
        if !model.has_template {
            return true;
        }
        let Ok(templates) = ChatTemplates::read(model.tokenizer) else { return true };
        let Ok(source) = templates.choose(false) else { return true };
        let Ok(template) = ChatTemplate::new(source, TODAY) else { return true };
        let special = special_tokens(model.tokenizer);
        let probe = Probe { source, template: &template, special: &special };
        let mut right = true;
        for key in self.kwargs.keys() {
            if probe.knows(key, &self.kwargs) {
                continue;
            }
            let is_effort = key == EFFORT && self.effort.is_some();
            let (at, what) = match (is_effort, self.effort) {
                (true, Some(at)) => (at, "`effort`".to_owned()),
                _ => (self.kwarg_span(key).unwrap_or(span), format!("`{key}` of `chat_template_kwargs`")),
            };
            let message = format!("{what} changes nothing in the prompts of {name}");
            let help = "its chat template does not know the variable: remove it, or see the template for its name";
            right = wrong(check, at, message, help.into());
        }
        match ChatThinking::resolve(probe, &self.thinking, &self.kwargs) {
            Err(fault @ ThinkingFault::NoMarks) => {
                let help = "write them: `marks = { start = \"<think>\", end = \"</think>\" }`, or remove `thinking`";
                wrong(check, span, format!("{name}: {fault}"), help.into())
            }
            Err(fault @ ThinkingFault::Contradiction { .. }) => {
                wrong(check, span, format!("{name}: {fault}"), "remove one of them".into())
            }
            Ok(resolved) => {
                self.note(check, span, &name, &resolved);
                right
            }
        }
    }

    fn note(&self, check: &mut Check, span: Span, name: &str, resolved: &ChatThinking) {
        let message = match (self.thinking.mode, resolved.switch, &resolved.marks) {
            (ThinkingMode::On, None, _) => {
                format!("{name} has no switch in its chat template: it thinks, or does not, by itself")
            }
            (ThinkingMode::Off, None, Some(marks)) => format!(
                "{name} has no switch in its chat template: an empty thinking, {:?}, is put behind its prompts",
                marks.empty_block(false)
            ),
            (ThinkingMode::Off, None, None) => format!("{name} does not think as far as its chat template says"),
            _ => return,
        };
        check.note(span, message, "`--dry-run` shows the marks and the switch of each model");
    }

    fn kwarg_span(&self, key: &str) -> Option<Span> {
        let Value::Table(table) = &self.kwargs_at?.value else { return None };
        table.entry(key).map(|entry| entry.key_span)
    }
}
