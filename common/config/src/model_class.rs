//! OpenCompass's classes of models, `type = "VLLMwithChatTemplate"`, as the kinds of model here: in TOML as in Python.
//!
//! A class says which files a model has, whether prompts go through the chat template, and whose settings stand beside it;
//! what these settings come to is in `model_settings` and `model_generation`.

use super::check::Check;
use super::choice::{self, Words};
use super::model::KINDS;
use super::model_generation;
use super::model_openai;
use super::model_settings::{self, Ignored};
use super::model_turbomind_api;
use super::source::Span;
use super::tree::{KeyValue, Node, Table, Value};
use super::truncation;
use compass_diagnostic::spelling;

/// A class: what it is here.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: &'static str,
    /// The layout of its directory.
    kind: &'static str,
    /// Whether prompts go through the chat template.
    pub(super) chat: bool,
    pub(super) engine: Engine,
}

/// Whose settings a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Transformers,
    Lmdeploy,
    Vllm,
    /// The code that Meta or InternLM published with their weights: it has none.
    Published,
    /// A server: it has none.
    Endpoint,
}

const fn class(name: &'static str, kind: &'static str, chat: bool, engine: Engine) -> Class {
    Class { name, kind, chat, engine }
}

const CLASSES: &[Class] = &[
    class("HuggingFaceBaseModel", "hf", false, Engine::Transformers),
    class("HuggingFacewithChatTemplate", "hf", true, Engine::Transformers),
    class("HuggingFace", "hf", false, Engine::Transformers),
    class("HuggingFaceCausalLM", "hf", false, Engine::Transformers),
    class("ModelScope", "hf", false, Engine::Transformers),
    class("ModelScopeCausalLM", "hf", false, Engine::Transformers),
    class("TurboMindModel", "hf", false, Engine::Lmdeploy),
    class("TurboMindModelwithChatTemplate", "hf", true, Engine::Lmdeploy),
    class("LmdeployPytorchModel", "hf", false, Engine::Lmdeploy),
    class("VLLM", "hf", false, Engine::Vllm),
    class("VLLMwithChatTemplate", "hf", true, Engine::Vllm),
    class("Llama2", "llama", false, Engine::Published),
    class("Llama2Chat", "llama", true, Engine::Published),
    class("InternLM", "internlm", false, Engine::Published),
    class("LLMv2", "internlm", false, Engine::Published),
    class("OpenAI", "openai", true, Engine::Endpoint),
    class("OpenAISDK", "openai", true, Engine::Endpoint),
    class("TurboMindAPIModel", "openai", false, Engine::Endpoint),
];

/// Classes behind which no weights are, but an address.
#[rustfmt::skip]
const ENDPOINTS: &[&str] = &[
    "AI360GPT", "Baidu", "BaiChuan", "Bailing", "BlueLM", "ByteDance", "Claude", "Deepseek", "Doubao", "ERNIEBot", "Gemini",
    "Hunyuan", "KrGPT", "LightllmAPI", "LightllmChatAPI", "LiteLLM", "MiniMax", "Mistral", "MoonShot", "Nanbeige", "OpenAI",
    "PanGu", "Qwen", "Rendu", "SenseTime", "StepFun", "TeleChat", "TurboMindAPI", "UniGPT", "XunFei", "Yayi", "YiAPI", "ZhiPu",
];
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

/// Whether a class is a server that is asked, not weights.
pub(super) fn is_endpoint(written: &str) -> bool {
    let name = choice::class(written);
    CLASSES.iter().any(|class| class.name == name && class.engine == Engine::Endpoint)
}

/// Whether a class of OpenCompass asks a server, served here or not.
pub(super) fn asks_a_server(written: &str) -> bool {
    let name = choice::class(written);
    is_endpoint(written) || name.ends_with("API") || ENDPOINTS.iter().any(|endpoint| name.starts_with(endpoint))
}

/// Names of the classes that are served, the usual ones first.
pub(super) fn names() -> Vec<&'static str> {
    CLASSES.iter().map(|class| class.name).collect()
}

/// What `type` takes: the kinds, and the classes.
pub(super) fn words() -> Words {
    let words = KINDS.words();
    Words { aliases: words.aliases.into_iter().chain(names()).collect(), ..words }
}

/// The model with the keys of its kind. `None` where `type` names no class; in it, `None` when something is wrong, which is
/// reported.
pub(super) fn resolve(check: &mut Check, table: &Table, span: Span) -> Option<Option<Table>> {
    let written = table.text("type").filter(|written| !KINDS.now.iter().any(|(kind, _)| kind == written))?;
    let name = choice::class(written);
    let at = table.get("type").map_or(span, |node| node.span);
    match CLASSES.iter().find(|class| class.name == name) {
        Some(class) if class.name == "TurboMindAPIModel" => Some(model_turbomind_api::of_class(check, table, at)),
        Some(class) if class.engine == Engine::Endpoint => Some(model_openai::of_class(check, table, at)),
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
            "fastchat_template" | "use_fastchat_template" | "chat_template_kwargs" => {
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
    right &= model_settings::engine(check, table, class, &mut model, &mut ignored);
    right &= model_settings::model_kwargs(check, table, class, &mut model, &mut ignored);
    right &= model_generation::read(check, table, (class, at), &mut model, &mut ignored);
    ignored.note(check);
    (right || check.unselected).then_some(model)
}

fn refuse(check: &mut Check, at: Span, written: &str, name: &str) {
    let is_endpoint = ENDPOINTS.iter().any(|endpoint| name.starts_with(endpoint)) || name.ends_with("API");
    let names = names();
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

/// Puts `value` where nothing stands at `key`.
pub(super) fn put(model: &mut Table, key: &str, span: Span, value: Value) {
    if model.get(key).is_none() {
        model.entries.push(KeyValue { key: key.to_owned(), key_span: span, node: Node { value, span } });
    }
}

fn replace(model: &mut Table, entry: KeyValue) {
    model.remove(&entry.key);
    model.entries.push(entry);
}
