//! `gen_config` and `generation_kwargs` beside a class of models, as `generation_kwargs` of ours.
//!
//! Each engine has its own words and its own defaults: what vLLM and lmdeploy do where nothing is said is written out here, as
//! it is not what transformers does. Settings of draws where nothing is drawn change nothing there either, and are dropped.

use super::settings::Ignored;
use crate::keys::vocabulary::{Class, Engine};
use crate::read::decoding::is_card;
use crate::read::fields::any_table;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, put};

/// Below this temperature vLLM takes the likeliest token.
const VLLM_GREEDY: f64 = 1e-5;
/// lmdeploy's temperature and number of candidates where nothing is said.
const LMDEPLOY_TEMPERATURE: f64 = 0.8;
const LMDEPLOY_TOP_K: i64 = 50;

/// Reads both tables of a model whose class is named at `at`; `false` when something is wrong, which is reported.
pub(crate) fn read(
    check: &mut Check,
    table: &Table,
    (class, at): (&Class, Span),
    model: &mut Table,
    ignored: &mut Ignored,
) -> bool {
    let mut settings = Table::default();
    let mut first = None;
    for key in ["gen_config", "generation_kwargs"] {
        let Some(entry) = table.entry(key) else { continue };
        let Some(given) = any_table(check, key, &entry.node) else { return false };
        first.get_or_insert(entry.key_span);
        settings.entries.extend(given.entries.iter().cloned());
    }
    let at = first.unwrap_or(at);
    match class.engine {
        Engine::Transformers | Engine::Published | Engine::Endpoint => transformers(settings, at, model, ignored),
        Engine::Lmdeploy => Reader { check, class, at, model, ignored, right: true }.lmdeploy(&settings),
        Engine::Vllm => Reader { check, class, at, model, ignored, right: true }.vllm(&settings),
    }
}

/// The same words here.
fn transformers(settings: Table, at: Span, model: &mut Table, ignored: &mut Ignored) -> bool {
    let told = settings.get("do_sample");
    let draws = told.is_some_and(|node| matches!(node.value, Value::Boolean(true)) || is_card(node));
    let mut ours = Table::default();
    for entry in settings.entries {
        let of_draws = ["temperature", "top_k", "top_p"].contains(&entry.key.as_str());
        match entry.key.as_str() {
            "pad_token_id" | "use_cache" => ignored.add(format!("generation_kwargs.{}", entry.key), entry.key_span),
            // It would be refused as a number out of range, and draws nothing.
            _ if of_draws && !draws && entry.node.number().is_none_or(|number| number <= 0.0) => {}
            _ => {
                ours.remove(&entry.key);
                ours.entries.push(entry);
            }
        }
    }
    if !ours.entries.is_empty() {
        put(model, "generation_kwargs", at, Value::Table(ours));
    }
    true
}

struct Reader<'r> {
    check: &'r mut Check,
    class: &'r Class,
    at: Span,
    model: &'r mut Table,
    ignored: &'r mut Ignored,
    right: bool,
}

impl Reader<'_> {
    /// lmdeploy draws where it is told so in as many words, and in chats only; a data set's inferencer may say so too.
    fn lmdeploy(mut self, settings: &Table) -> bool {
        let asked = matches!(settings.get("do_sample").map(|node| &node.value), Some(Value::Boolean(true)));
        let temperature = settings.get("temperature").and_then(Node::number).unwrap_or(LMDEPLOY_TEMPERATURE);
        let draws = asked && self.class.chat && temperature > 0.0;
        let mut ours = Table::default();
        if draws {
            self.say(&mut ours, "do_sample", Value::Boolean(true));
        }
        for entry in &settings.entries {
            match entry.key.as_str() {
                "do_sample" if is_card(&entry.node) => self.unknown("gen_config", entry),
                "do_sample" | "ignore_eos" | "n" => {}
                "temperature" | "top_p" | "top_k" if !draws => {}
                "temperature" | "top_p" | "top_k" | "repetition_penalty" => ours.entries.push(entry.clone()),
                "min_new_tokens" => put(self.model, "min_out_len", entry.key_span, entry.node.value.clone()),
                "max_new_tokens" => self.length(entry),
                "random_seed" => put(&mut ours, "seed", entry.key_span, entry.node.value.clone()),
                "stop_words" => self.stops(entry, &mut ours),
                "stop_token_ids" => put(&mut ours, "eos_token_id", entry.key_span, entry.node.value.clone()),
                "skip_special_tokens" | "spaces_between_special_tokens" | "logprobs" | "response_format" => {
                    self.ignored.add(format!("gen_config.{}", entry.key), entry.key_span);
                }
                _ => self.unknown("gen_config", entry),
            }
        }
        if draws {
            self.say(&mut ours, "temperature", Value::Float(LMDEPLOY_TEMPERATURE));
            self.say(&mut ours, "top_k", Value::Integer(LMDEPLOY_TOP_K));
            self.say(&mut ours, "top_p", Value::Float(1.0));
        }
        self.say(&mut ours, "repetition_penalty", Value::Float(1.0));
        // Its class asks for one token at least.
        put(self.model, "min_out_len", self.at, Value::Integer(1));
        self.finish(ours)
    }

    /// vLLM draws at temperature 1 unless it is told otherwise; the chat's class tells it 0.
    fn vllm(mut self, settings: &Table) -> bool {
        let usual = if self.class.chat { 0.0 } else { 1.0 };
        let given = settings.get("temperature").and_then(Node::number);
        let draws = given.unwrap_or(usual) >= VLLM_GREEDY;
        let mut ours = Table::default();
        if draws {
            self.say(&mut ours, "do_sample", Value::Boolean(true));
            if given.is_none() {
                let help = "write generation_kwargs=dict(temperature=0) for the likeliest token at each step";
                let message =
                    format!("`{}` draws tokens at temperature 1 where no temperature is given", self.class.name);
                self.check.note(self.at, message, help);
                self.say(&mut ours, "temperature", Value::Float(1.0));
            }
        }
        for entry in &settings.entries {
            let least = matches!(entry.node.value, Value::Integer(..=0));
            match entry.key.as_str() {
                "do_sample" if is_card(&entry.node) => self.unknown("generation_kwargs", entry),
                "do_sample" | "n" => {}
                "temperature" | "top_p" | "top_k" if !draws => {}
                // All candidates: -1 there.
                "top_k" if least => {}
                "temperature" | "top_p" | "top_k" | "repetition_penalty" | "seed" => ours.entries.push(entry.clone()),
                "min_tokens" => put(self.model, "min_out_len", entry.key_span, entry.node.value.clone()),
                "max_tokens" | "max_new_tokens" => self.length(entry),
                "stop" => self.stops(entry, &mut ours),
                "stop_token_ids" | "eos_token_id" => {
                    put(&mut ours, "eos_token_id", entry.key_span, entry.node.value.clone());
                }
                "skip_special_tokens" | "spaces_between_special_tokens" | "include_stop_str_in_output" | "logprobs" => {
                    self.ignored.add(format!("generation_kwargs.{}", entry.key), entry.key_span);
                }
                _ => self.unknown("generation_kwargs", entry),
            }
        }
        if draws {
            self.say(&mut ours, "top_k", Value::Integer(0));
            self.say(&mut ours, "top_p", Value::Float(1.0));
        }
        self.say(&mut ours, "repetition_penalty", Value::Float(1.0));
        self.finish(ours)
    }

    /// Puts the value that holds where nothing was said.
    fn say(&self, ours: &mut Table, key: &str, value: Value) {
        put(ours, key, self.at, value);
    }

    /// The model's own word comes first, as a data set's before both.
    fn length(&mut self, entry: &KeyValue) {
        put(self.model, "max_out_len", entry.key_span, entry.node.value.clone());
    }

    /// Marks at which an answer ends: texts, or ids of tokens.
    fn stops(&mut self, entry: &KeyValue, ours: &mut Table) {
        let items = match &entry.node.value {
            Value::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        let (texts, ids): (Vec<Node>, Vec<Node>) = items.iter().cloned().partition(|item| item.text().is_some());
        if !ids.is_empty() {
            put(ours, "eos_token_id", entry.key_span, Value::Array(ids));
        }
        if texts.is_empty() {
            return;
        }
        match self.model.get_mut("stop_words") {
            Some(Node { value: Value::Array(known), .. }) => known.extend(texts),
            _ => put(self.model, "stop_words", entry.key_span, Value::Array(texts)),
        }
    }

    fn unknown(&mut self, table: &str, entry: &KeyValue) {
        let nothing = entry.node.is_empty()
            || matches!(entry.node.value, Value::Boolean(false))
            || entry.node.number() == Some(0.0);
        if !nothing {
            let help = "remove it: no such setting changes what is generated here";
            self.check.not_yet(entry.key_span, &format!("`{table}.{}`", entry.key), help);
            self.right = false;
        }
    }

    fn finish(self, ours: Table) -> bool {
        put(self.model, "generation_kwargs", self.at, Value::Table(ours));
        self.right
    }
}
