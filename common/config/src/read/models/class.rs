//! OpenCompass's classes of models, `type = "VLLMwithChatTemplate"`, as the kinds of model here: in TOML as in Python.
//!
//! A class says which files a model has, whether prompts go through the chat template, and whose settings stand beside it;
//! what these settings come to is in `model_settings` and `model_generation`.

use super::settings::{self, Ignored};
use super::{generation, openai, truncation, turbomind_api};
use crate::keys::vocabulary::{CLASSES, Class, ENDPOINTS, Engine, KINDS, bare_class, class_names};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Table, Value, put};
use compass_diagnostic::spelling;

/// Classes with code of their own, and what they would take.
const OTHERS: &[(&str, &str)] = &[
    ("Mixtral", "it reads Mistral's own files: name the Hugging Face directory, `type=HuggingFaceBaseModel`"),
    ("LLaMA2AccessoryModel", "it runs LLaMA2-Accessory: convert the weights to a Hugging Face directory"),
    ("AlayaLM", "it runs the model's own code: convert the weights to a Hugging Face directory"),
    ("GLM130B", "it runs a server of its own: name a Hugging Face directory"),
    ("InternTrain", "it runs InternLM's training code: `type=InternLM` reads its directories"),
    ("HuggingFaceChatGLM3", "it calls code of the model's directory: use `type=HuggingFacewithChatTemplate`"),
    ("LagentAgent", "agents are not served yet: use the model inside it"),
    ("CodeAgent", "agents are not served yet: use the model inside it"),
];

/// Classes whose `get_loglikelihood` is a sum; that of the others is a mean.
const SUMMING: &[&str] =
    &["HuggingFace", "HuggingFaceCausalLM", "ModelScope", "ModelScopeCausalLM", "TurboMindModel", "Llama2"];

/// Keys of engines that change nothing of what is computed here.
const NO_EFFECT: &[&str] = &[
    "backend",
    "batch_padding",
    "concurrency",
    "max_workers",
    "model_config",
    "model_type",
    "num_worker",
    "pad_token_id",
    "summarizer_abbr",
    "tokenizer_only",
    "tokenizer_type",
    "verbose",
];

/// The model with the keys of its kind. `None` where `type` names no class; in it, `None` when something is wrong, which is
/// reported.
pub(crate) fn resolve(check: &mut Check, table: &Table, span: Span) -> Option<Option<Table>> {
    let written = table.text("type").filter(|written| !KINDS.now.iter().any(|(kind, _)| kind == written))?;
    let name = bare_class(written);
    let at = table.get("type").map_or(span, |node| node.span);
    match CLASSES.iter().find(|class| class.name == name) {
        Some(class) if class.name == "TurboMindAPIModel" => Some(turbomind_api::of_class(check, table, at)),
        Some(class) if class.engine == Engine::Endpoint => Some(openai::of_class(check, table, at)),
        Some(class) => Some(of_class(check, table, class, at)),
        None if written.contains('.') || written.starts_with(char::is_uppercase) => {
            refuse(check, at, written, name);
            Some(None)
        }
        None => None,
    }
}

fn of_class(check: &mut Check, table: &Table, class: &Class, at: Span) -> Option<Table> {
    let mut model = Table::default();
    let mut ignored = Ignored::default();
    put(&mut model, "type", at, Value::String(class.kind.to_owned()));
    if class.chat {
        put(&mut model, "chat", at, Value::Boolean(true));
    }
    let mut right = true;
    for entry in &table.entries {
        let (key, span, node) = (entry.key.as_str(), entry.key_span, &entry.node);
        match key {
            "type" | "gen_config" | "generation_kwargs" | "engine_config" | "model_kwargs" => {}
            key if NO_EFFECT.contains(&key) => ignored.add(key, span),
            "mode" | "drop_middle" => {
                if !truncation::middle(table, class.name, (key, node), span, &mut model) {
                    let help = "the beginning or the end of what is too long is cut, and said; see tokenizer_kwargs";
                    check.note(span, format!("`{key}` has no effect"), help);
                }
            }
            "fastchat_template" | "use_fastchat_template" => {
                if !node.is_empty() && !matches!(node.value, Value::Boolean(false)) {
                    check.not_yet(span, &format!("`{key}`"), "give the template as `meta_template`");
                    right = false;
                }
            }
            "extract_pred_after_decode" => {
                check.note(
                    span,
                    format!("`{key}` has no effect"),
                    "the answer alone is decoded here, without its prompt",
                );
            }
            "lora_path" => {
                check.not_yet(span, "`lora_path`", "merge the adapter into the model's weights");
                right = false;
            }
            // A mark at which an answer ends.
            "end_str" => put(&mut model, "stop_words", span, Value::Array(vec![node.clone()])),
            _ => replace(&mut model, entry.clone()),
        }
    }
    truncation::of_class(table, class.name, at, &mut model);
    if SUMMING.contains(&class.name) {
        put(&mut model, "sum_loglikelihood", at, Value::Boolean(true));
    }
    right &= settings::engine(check, table, class, &mut model, &mut ignored);
    right &= settings::model_kwargs(check, table, class, &mut model, &mut ignored);
    right &= generation::read(check, table, (class, at), &mut model, &mut ignored);
    ignored.note(check);
    (right || check.unselected).then_some(model)
}

fn refuse(check: &mut Check, at: Span, written: &str, name: &str) {
    let is_endpoint = ENDPOINTS.iter().any(|endpoint| name.starts_with(endpoint)) || name.ends_with("API");
    let names = class_names();
    let other = OTHERS.iter().find(|(other, _)| *other == name);
    let help = match (other, is_endpoint, spelling::nearest(name, names.iter().copied())) {
        (Some((_, help)), ..) => (*help).to_owned(),
        (None, true, _) => {
            "endpoints that speak OpenAI's protocol are served: write `type=OpenAI` with `openai_api_base`".to_owned()
        }
        (None, false, Some(near)) => format!("did you mean `{near}`? served are {}", spelling::list(&names)),
        (None, false, None) => format!("served are {}", spelling::list(&names)),
    };
    check.not_yet(at, &format!("`{written}`"), &help);
}

fn replace(model: &mut Table, entry: KeyValue) {
    model.remove(&entry.key);
    model.entries.push(entry);
}
