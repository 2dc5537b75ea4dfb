//! OpenCompass's classes `OpenAI` and `OpenAISDK` as `type = "openai"` with an `endpoint`.

use super::settings::Ignored;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, put};

/// Address that the class asks unless it is told otherwise.
const URL: &str = "https://api.openai.com/v1";
/// The environment variable that the class reads with `key='ENV'`, its default.
pub(crate) const KEY_ENV: &str = "OPENAI_API_KEY";
/// The class's temperature where nothing is said.
const TEMPERATURE: f64 = 0.7;

/// Keys of the class that change nothing here.
#[rustfmt::skip]
const NO_EFFECT: &[&str] = &[
    "mode", "retry", "rpm_verbose", "verbose", "tokenizer_path", "think_tag", "summarizer_abbr", "status_code_mappings",
    "http_client_cfg", "internal_content",
];

/// The model with the keys of ours. `None` when something is wrong, which is reported.
pub(crate) fn of_class(check: &mut Check, table: &Table, at: Span) -> Option<Table> {
    let (mut model, mut endpoint, mut ignored) = (Table::default(), Table::default(), Ignored::default());
    put(&mut model, "type", at, Value::String("openai".into()));
    let (mut right, mut has_key, mut temperature) = (true, false, None);
    for entry in &table.entries {
        let (name, span, node) = (entry.key.as_str(), entry.key_span, &entry.node);
        match name {
            "type" => {}
            key if NO_EFFECT.contains(&key) => ignored.add(key, span),
            "path" => endpoint.entries.push(renamed(entry, "model")),
            "openai_api_base" => match one(node) {
                Some(node) => endpoint.entries.push(KeyValue { node: node.clone(), ..renamed(entry, "url") }),
                None => {
                    check.not_yet(span, "several addresses in `openai_api_base`", "name one of them");
                    right = false;
                }
            },
            "key" => {
                has_key = true;
                right &= key(check, span, node, &mut endpoint);
            }
            "org" if node.is_empty() => {}
            "org" => {
                let mut headers = Table::default();
                put(&mut headers, "openai-organization", span, node.value.clone());
                put(&mut endpoint, "headers", span, Value::Table(headers));
            }
            "openai_proxy_url" if node.is_empty() => {}
            "openai_proxy_url" => {
                check.not_yet(span, "`openai_proxy_url`", "set HTTPS_PROXY where workers start");
                right = false;
            }
            "query_per_second" => right &= per_minute(check, entry, &mut endpoint),
            "max_workers" => endpoint.entries.push(renamed(entry, "max_concurrency")),
            "timeout" => match node.value {
                Value::Integer(seconds) => put(&mut endpoint, "timeout", span, Value::String(format!("{seconds}s"))),
                _ => endpoint.entries.push(entry.clone()),
            },
            "temperature" => temperature = Some(entry),
            "max_completion_tokens" => put(&mut model, "max_out_len", span, node.value.clone()),
            "logprobs" | "top_logprobs" | "extra_body" | "openai_extra_kwargs" => {
                if !node.is_empty() && !matches!(node.value, Value::Boolean(false)) {
                    check.not_yet(span, &format!("`{name}`"), "remove it");
                    right = false;
                }
            }
            _ => model.entries.push(entry.clone()),
        }
    }
    if !has_key {
        put(&mut endpoint, "key_env", at, Value::String(KEY_ENV.into()));
    }
    put(&mut endpoint, "url", at, Value::String(URL.into()));
    put(&mut endpoint, "api", at, Value::String("chat".into()));
    put(&mut model, "endpoint", at, Value::Table(endpoint));
    draws(check, temperature, at, &mut model);
    ignored.note(check);
    (right || check.unselected).then_some(model)
}

pub(crate) fn renamed(entry: &KeyValue, key: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), ..entry.clone() }
}

/// The value, or the only one of a list.
fn one(node: &Node) -> Option<&Node> {
    match &node.value {
        Value::Array(items) => items.first().filter(|_| items.len() == 1),
        _ => Some(node),
    }
}

/// `'ENV'` is the environment's; what stands in the file itself would be kept with every run.
pub(crate) fn key(check: &mut Check, span: Span, node: &Node, endpoint: &mut Table) -> bool {
    if !is_no_key(node) {
        let help = format!("write key='ENV' and set {KEY_ENV} where workers start: every run keeps its configuration");
        check.error(span, "`key` holds the key itself".into(), Some(help));
        return false;
    }
    if one(node).and_then(Node::text) == Some("ENV") {
        put(endpoint, "key_env", span, Value::String(KEY_ENV.into()));
    }
    true
}

/// Returns `true` if a value says that there is no key, or that it is in the environment.
pub(crate) fn is_no_key(node: &Node) -> bool {
    one(node).and_then(Node::text).is_some_and(|text| matches!(text, "ENV" | "" | "EMPTY" | "empty" | "none"))
}

fn per_minute(check: &mut Check, entry: &KeyValue, endpoint: &mut Table) -> bool {
    let a_second = entry.node.number().unwrap_or(0.0);
    let a_minute = (a_second * 60.0).round();
    if !(1.0..=f64::from(u32::MAX)).contains(&a_minute) {
        check.wrong_type("query_per_second", &entry.node, "a number above 0", "1");
        return false;
    }
    put(endpoint, "rpm", entry.key_span, Value::Integer(a_minute as i64));
    true
}

/// The class draws at 0.7 unless it is told otherwise; at 0 the likeliest token is taken.
fn draws(check: &mut Check, temperature: Option<&KeyValue>, at: Span, model: &mut Table) {
    if model.get("generation_kwargs").is_some() {
        return;
    }
    let (value, span) = match temperature.filter(|entry| !entry.node.is_empty()) {
        Some(entry) => (entry.node.value.clone(), entry.key_span),
        None => {
            let help = "write temperature=0 for the likeliest token at each step";
            check.note(at, format!("the class draws tokens at temperature {TEMPERATURE}, as nothing is said"), help);
            (Value::Float(TEMPERATURE), at)
        }
    };
    if matches!(value, Value::Integer(0)) || matches!(value, Value::Float(0.0)) {
        return;
    }
    let mut settings = Table::default();
    put(&mut settings, "do_sample", span, Value::Boolean(true));
    put(&mut settings, "temperature", span, value);
    put(model, "generation_kwargs", span, Value::Table(settings));
}
