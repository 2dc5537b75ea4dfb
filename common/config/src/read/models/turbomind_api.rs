//! OpenCompass's class `TurboMindAPIModel`, lmdeploy's server, as `type = "openai"` with an `endpoint` that continues texts.

use super::openai::{key, renamed};
use super::settings::Ignored;
use crate::read::fields::any_table;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Table, Value, put};

/// Address that the class asks unless it is told otherwise.
const ADDRESS: &str = "http://0.0.0.0:23333";
/// Values with which the class draws unless it is told otherwise: 0.5.4, `TurboMindAPIModel.generate`.
const DRAWS: [(&str, Value); 3] =
    [("temperature", Value::Float(1.0)), ("top_p", Value::Float(0.8)), ("top_k", Value::Integer(50))];

/// The model with the keys of ours. `None` when something is wrong, which is reported.
pub(crate) fn of_class(check: &mut Check, table: &Table, at: Span) -> Option<Table> {
    let (mut model, mut endpoint, mut ignored) = (Table::default(), Table::default(), Ignored::default());
    put(&mut model, "type", at, Value::String("openai".into()));
    put(&mut model, "chat", at, Value::Boolean(false));
    let mut draws = Table::default();
    let mut right = true;
    for entry in &table.entries {
        let (name, span, node) = (entry.key.as_str(), entry.key_span, &entry.node);
        match name {
            "type" | "gen_config" => {}
            _ if node.is_empty() => {}
            "model_name" => endpoint.entries.push(renamed(entry, "model")),
            "api_addr" => {
                let address = node.text().map(|address| Value::String(format!("{}/v1", address.trim_end_matches('/'))));
                put(&mut endpoint, "url", span, address.unwrap_or_else(|| node.value.clone()));
            }
            "api_key" => right &= key(check, span, node, &mut endpoint),
            "temperature" | "top_p" | "top_k" => draws.entries.push(entry.clone()),
            "end_str" => put(&mut model, "stop_words", span, Value::Array(vec![node.clone()])),
            // A server knows of no GPUs, how many it is asked at once follows from its answers, and the class asks for no path.
            "run_cfg" | "batch_size" | "path" => ignored.add(name, span),
            _ => model.entries.push(entry.clone()),
        }
    }
    if let Some(node) = table.get("gen_config").filter(|node| !node.is_empty()) {
        right &= any_table(check, "gen_config", node).is_some_and(|settings| {
            settings.entries.iter().all(|entry| of_gen_config(check, entry, &mut model, &mut draws, &mut ignored))
        });
    }
    put(&mut endpoint, "url", at, Value::String(format!("{ADDRESS}/v1")));
    put(&mut endpoint, "api", at, Value::String("completions".into()));
    put(&mut model, "endpoint", at, Value::Table(endpoint));
    if model.get("generation_kwargs").is_none() {
        put(&mut model, "generation_kwargs", at, drawn(check, draws, at));
    }
    ignored.note(check);
    (right || check.unselected).then_some(model)
}

/// Settings that the class hands to the server; they win over its own. `false` when something is wrong, which is reported.
fn of_gen_config(
    check: &mut Check,
    entry: &KeyValue,
    model: &mut Table,
    draws: &mut Table,
    ignored: &mut Ignored,
) -> bool {
    match entry.key.as_str() {
        "temperature" | "top_p" | "top_k" => {
            drop(draws.remove(&entry.key));
            draws.entries.push(entry.clone());
        }
        "max_tokens" | "max_new_tokens" => put(model, "max_out_len", entry.key_span, entry.node.value.clone()),
        "session_id" => ignored.add("session_id", entry.key_span),
        name => {
            check.not_yet(entry.key_span, &format!("`{name}` of `gen_config`"), "remove it");
            return false;
        }
    }
    true
}

/// Returns the settings by which tokens are drawn. At temperature 0, or of one candidate, the likeliest is taken.
fn drawn(check: &mut Check, draws: Table, at: Span) -> Value {
    let mut settings = Table::default();
    let number = |name: &str| draws.get(name).and_then(|node| node.number());
    if number("temperature") == Some(0.0) || number("top_k") == Some(1.0) {
        return Value::Table(settings);
    }
    if draws.entries.is_empty() {
        let help = "write temperature=0 for the likeliest token at each step";
        check.note(at, "the class draws tokens at temperature 1, as nothing is said".to_owned(), help);
    }
    put(&mut settings, "do_sample", at, Value::Boolean(true));
    settings.entries.extend(draws.entries);
    for (name, value) in DRAWS {
        put(&mut settings, name, at, value);
    }
    Value::Table(settings)
}
