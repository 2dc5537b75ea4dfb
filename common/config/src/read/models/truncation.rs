//! Shortening of a model's prompts that are too long: the keys beside `max_seq_len`, and what OpenCompass's classes mean by theirs.

use crate::keys::vocabulary::DROP_MIDDLE;
use crate::read::fields::{Fields, flag};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value, put};
use compass_plan::{DropMiddle, Truncation};

/// `max_seq_len` of the classes that wrote `generate` before transformers 4.33, where a configuration has none.
const LEGACY_MAX_SEQ_LEN: i64 = 2048;
/// Classes of that time, which cut a prompt so that the answer fits, too.
const LEGACY: &[&str] = &["HuggingFace", "HuggingFaceCausalLM", "ModelScope", "ModelScopeCausalLM"];

/// Reads the keys of a model.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> Truncation {
    let max_prompt_len = fields.u32(check, "max_prompt_len");
    let key = "reserve_max_out_len";
    let reserves_answer = fields.get(key).and_then(|node| flag(check, key, node)).unwrap_or_default();
    let middle = fields.get("drop_middle").and_then(|node| match node.value {
        Value::Boolean(drops) => drops.then_some(DropMiddle::Tokens),
        _ => DROP_MIDDLE.pick(check, "drop_middle", node),
    });
    Truncation { max_prompt_len, reserves_answer, middle }
}

/// Adds what a model of OpenCompass's class `name` does without being told. `at` is where the class is named.
pub(crate) fn of_class(table: &Table, name: &str, at: Span, model: &mut Table) {
    if !LEGACY.contains(&name) {
        return;
    }
    if table.get("max_seq_len").is_none_or(Node::is_empty) {
        put(model, "max_prompt_len", at, Value::Integer(LEGACY_MAX_SEQ_LEN));
    }
    // Padded batches are cut at `max_seq_len`.
    if !pads_batches(table) {
        put(model, "reserve_max_out_len", at, Value::Boolean(true));
    }
    put(model, "tokenizer_kwargs", at, Value::Table(Table::default()));
    if let Some(Node { value: Value::Table(kwargs), .. }) = model.get_mut("tokenizer_kwargs")
        && ["truncation_side", "truncation"].iter().all(|key| kwargs.text(key).is_none())
    {
        put(kwargs, "truncation_side", at, Value::String("own".into()));
    }
}

/// Translates `mode` or `drop_middle` of OpenCompass's class `name`; returns `false` if it is asked for and nothing here does it.
pub(crate) fn middle(table: &Table, name: &str, (key, node): (&str, &Node), at: Span, model: &mut Table) -> bool {
    let asks = match &node.value {
        Value::Boolean(asks) => *asks,
        Value::String(mode) => mode != "none",
        _ => !node.is_empty(),
    };
    let how = match (key, name) {
        _ if !asks => return true,
        // As it is written where no class is named.
        ("drop_middle", _) if node.text().is_some_and(|text| DROP_MIDDLE.words().names.contains(&text)) => {
            put(model, key, at, node.value.clone());
            return true;
        }
        ("drop_middle", "HuggingFaceBaseModel") => ("tokens", false),
        ("mode", "HuggingFacewithChatTemplate") => ("tokens", true),
        ("mode", "VLLM") => ("texts", true),
        ("mode", name) if LEGACY.contains(&name) && !pads_batches(table) => ("texts", true),
        _ => return false,
    };
    put(model, "drop_middle", at, Value::String(how.0.into()));
    if how.1 {
        put(model, "reserve_max_out_len", at, Value::Boolean(true));
    }
    true
}

fn pads_batches(table: &Table) -> bool {
    table.get("batch_padding").is_some_and(|node| matches!(node.value, Value::Boolean(true)))
}
