//! `models`: OpenCompass's classes of models as the kinds of model here.

use super::tree::{self, Places};
use super::{array, class};
use crate::check::Check;
use crate::model::KINDS;
use crate::source::Span;
use crate::tree::{KeyValue, Node, Table, Value};
use compass_diagnostic::spelling;
use compass_python::{Node as PythonNode, Plain};

/// A class: what it is here, and whether prompts go through the chat template.
struct Class {
    name: &'static str,
    kind: &'static str,
    chat: bool,
}

const fn class(name: &'static str, kind: &'static str, chat: bool) -> Class {
    Class { name, kind, chat }
}

const CLASSES: &[Class] = &[
    class("HuggingFace", "hf", false),
    class("HuggingFaceCausalLM", "hf", false),
    class("HuggingFaceBaseModel", "hf", false),
    class("HuggingFacewithChatTemplate", "hf", true),
    class("TurboMindModel", "hf", false),
    class("TurboMindModelwithChatTemplate", "hf", true),
    class("LmdeployPytorchModel", "hf", false),
    class("VLLM", "hf", false),
    class("VLLMwithChatTemplate", "hf", true),
    class("Llama2", "llama", false),
    class("Llama2Chat", "llama", true),
    class("InternLM", "internlm", false),
    class("LLMv2", "internlm", false),
];

/// Keys of other engines, which change nothing of what is computed here.
const NO_EFFECT: &[&str] = &[
    "backend",
    "batch_padding",
    "concurrency",
    "drop_middle",
    "engine_config",
    "fastchat_template",
    "max_workers",
    "mode",
    "model_type",
    "num_worker",
    "summarizer_abbr",
    "tokenizer_only",
    "tokenizer_type",
    "use_fastchat_template",
    "verbose",
];
/// Keys whose values are paths, or names on the hub.
const PATHS: &[&str] = &["path", "tokenizer_path", "peft_path"];

/// `[[model]]` of every entry of `models`.
pub(super) fn read(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    if !matches!(node.value, Plain::List(_) | Plain::Tuple(_)) {
        check.error(span, "`models` is not a list".into(), Some("write `models = [...]`".into()));
        return None;
    }
    let models = node.items().iter().filter_map(|entry| model(check, places, entry)).collect();
    Some(array(models, span))
}

fn model(check: &mut Check, places: &Places, entry: &PythonNode) -> Option<Node> {
    let span = places.span(entry.place);
    let Plain::Dict(entries) = &entry.value else {
        check.error(span, "an entry of `models` is not a dict".into(), Some("write `dict(type=..., path=...)`".into()));
        return None;
    };
    // The kinds of TOML, `type="hf"`, with TOML's keys.
    if let Some(Plain::Text(kind)) = entry.get("type").map(|node| &node.value)
        && KINDS.now.iter().any(|(name, _)| name == kind)
    {
        return Some(Node { value: Value::Table(tree::table(check, places, entries)), span });
    }
    let Some(name) = class::of(entry) else {
        // A model that comes with the program has no class of OpenCompass's.
        if entry.get("abbr").is_some() && entry.get("path").is_some() {
            return Some(Node { value: Value::Table(tree::table(check, places, entries)), span });
        }
        check.error(span, "a model without `type`".into(), Some("write `type=HuggingFaceBaseModel`".into()));
        return None;
    };
    let Some(known) = CLASSES.iter().find(|class| class.name == name) else {
        return refused(check, span, class::dotted(entry).unwrap_or(name), name);
    };
    let mut table = Table::default();
    let mut put = |key: &str, key_span: Span, node: Node| match table.get_mut(key) {
        Some(there) => *there = node,
        None => table.entries.push(KeyValue { key: key.to_owned(), key_span, node }),
    };
    let type_span = entry.get("type").map_or(span, |node| places.span(node.place));
    put("type", type_span, Node { value: Value::String(known.kind.to_owned()), span: type_span });
    if known.chat {
        put("chat", type_span, Node { value: Value::Boolean(true), span: type_span });
    }
    let mut generation = Table::default();
    let mut ignored = Vec::new();
    for (key, node) in entries {
        let (Some(name), key_span) = (key.text(), places.span(key.place)) else { continue };
        match name {
            "type" => {}
            name if PATHS.contains(&name) => {
                if let Some(node) = tree::path(places, node) {
                    put(name, key_span, node);
                }
            }
            // One table here: how texts are generated.
            "gen_config" | "generation_kwargs" => {
                if let Plain::Dict(inner) = &node.value {
                    generation.entries.extend(tree::table(check, places, inner).entries);
                }
            }
            "engine_config" => {
                let length = node.get("session_len").or_else(|| node.get("max_seq_len"));
                if let Some(length) = length.and_then(|length| tree::convert(check, places, length)) {
                    put("max_seq_len", key_span, length);
                }
                ignored.push((name.to_owned(), key_span));
            }
            name if NO_EFFECT.contains(&name) => ignored.push((name.to_owned(), key_span)),
            // As there, a mark at which an answer ends.
            "end_str" => {
                if let Some(node) = tree::convert(check, places, node) {
                    let span = node.span;
                    put("stop_words", key_span, Node { value: Value::Array(vec![node]), span });
                }
            }
            "stop_words" | "meta_template" => {
                if let Some(node) = tree::convert(check, places, node).filter(|node| !node.is_empty()) {
                    put(name, key_span, node);
                }
            }
            "run_cfg" => {
                if let Some(node) = run_cfg(check, places, node) {
                    put(name, key_span, node);
                }
            }
            name => {
                if let Some(node) = tree::convert(check, places, node) {
                    put(name, key_span, node);
                }
            }
        }
    }
    if let Some(first) = generation.entries.first() {
        let span = first.key_span;
        put("generation_kwargs", span, Node { value: Value::Table(generation), span });
    }
    if let Some((_, span)) = ignored.first() {
        let names: Vec<String> = ignored.iter().map(|(name, _)| format!("`{name}`")).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        check.note(*span, format!("{} {have} no effect", names.join(", ")), "the engine here has no such setting");
    }
    Some(Node { value: Value::Table(table), span })
}

/// `num_procs` equal to `num_gpus` is one replica over these GPUs; another number is an error there as well.
fn run_cfg(check: &mut Check, places: &Places, node: &PythonNode) -> Option<Node> {
    let number = |key| match node.get(key).map(|node| &node.value) {
        Some(Plain::Int(number)) => Some(*number),
        _ => None,
    };
    let (gpus, procs) = (number("num_gpus"), number("num_procs"));
    let span = places.span(node.place);
    if let (Some(gpus), Some(procs)) = (gpus, procs)
        && procs > 1
        && procs != gpus
    {
        let message = format!("`num_procs = {procs}` and `num_gpus = {gpus}` differ");
        check.error(
            span,
            message,
            Some("write the same number for both: one process for each GPU of a replica".into()),
        );
        return None;
    }
    let Node { value: Value::Table(mut table), .. } = tree::convert(check, places, node)? else { return None };
    table.remove("num_procs");
    Some(Node { value: Value::Table(table), span })
}

fn refused(check: &mut Check, span: Span, dotted: &str, name: &str) -> Option<Node> {
    let is_endpoint = name.contains("OpenAI") || name.contains("API") || name.contains("SDK");
    let names: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
    let help = match (is_endpoint, spelling::nearest(name, names.iter().copied())) {
        (true, _) => "models behind an endpoint are not served yet".to_owned(),
        (false, Some(near)) => format!("did you mean `{near}`? served are {}", spelling::list(&names)),
        (false, None) => format!("served are {}", spelling::list(&names)),
    };
    check.not_yet(span, &format!("`{dotted}`"), &help);
    None
}
