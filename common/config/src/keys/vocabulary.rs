//! Names that can be chosen, and the values that the names stand for. Tables of keys and readers both use them.

use compass_plan::evaluation::Orders;
use compass_plan::partition::PartitionStrategy;
use compass_plan::prompt::LabelType;
use compass_plan::{
    ChatMode, DeviceRequest, DropMiddle, Dtype, EndpointApi, ModelKind, NumericProfile, REST, RefusedSystem,
    ThinkingMode, Unfinished,
};
use compass_postprocess::thinking::FAMILIES;
use compass_settings::{Cast, FORMATS};

/// The choices of one key.
pub(crate) struct Choices<'c, T> {
    /// Served, with what each stands for; the first spelling of a thing is the one shown.
    pub(crate) now: &'c [(&'c str, T)],
    /// Other spellings of what is served.
    pub(crate) aliases: &'c [(&'c str, T)],
    /// Named by the contract, served by a later version.
    pub(crate) later: &'c [&'c str],
    /// Advice until then.
    pub(crate) meanwhile: &'c str,
    /// The end of OpenCompass's class names, where it has classes for this.
    pub(crate) suffix: Option<&'c str>,
}

/// The names among which a key chooses.
#[derive(Debug)]
pub(crate) struct Words {
    /// Names that are shown.
    pub(crate) names: Vec<&'static str>,
    pub(crate) aliases: Vec<&'static str>,
    /// The end of OpenCompass's class names, which are understood too.
    pub(crate) suffix: Option<&'static str>,
}

impl<T> Choices<'static, T> {
    /// The names that are served.
    pub(crate) fn words(&self) -> Words {
        let names = |list: &[(&'static str, T)]| list.iter().map(|(name, _)| *name).collect();
        Words { names: names(self.now), aliases: names(self.aliases), suffix: self.suffix }
    }
}

impl<T: PartialEq> Choices<'static, T> {
    /// The usual name of `value`.
    pub(crate) fn name_of(&self, value: &T) -> &'static str {
        self.now.iter().find(|(_, one)| one == value).map_or("", |(name, _)| name)
    }
}

/// Choices that are all served, by one name each.
pub(crate) const fn plain<'c, T>(now: &'c [(&'c str, T)]) -> Choices<'c, T> {
    Choices { now, aliases: &[], later: &[], meanwhile: "", suffix: None }
}

/// The types that labels can have.
pub(crate) const LABEL_TYPES: Choices<'static, LabelType> =
    plain(&[("text", LabelType::Text), ("integer", LabelType::Integer), ("boolean", LabelType::Boolean)]);

pub(crate) const INFERENCERS: Choices<'_, InferencerName> = Choices {
    now: &[
        ("ppl", InferencerName::Ppl),
        ("gen", InferencerName::Gen),
        ("loglikelihood", InferencerName::Loglikelihood),
        ("ll", InferencerName::MeanLoglikelihood),
        ("clp", InferencerName::Clp),
        ("ppl_only", InferencerName::PplOnly),
        ("inference_ppl_only", InferencerName::InferencePpl),
        ("rolling", InferencerName::Rolling),
        ("swce_loss", InferencerName::SwceLoss),
        ("chat", InferencerName::Chat),
        ("sc", InferencerName::SelfConsistency),
    ],
    aliases: &[],
    later: &["min_k_percent", "chat_ml", "to_t", "agent", "attack", "glm_choice", "parallel_gen", "parallel_chat"],
    meanwhile: "use `ppl`, `gen`, `loglikelihood`, `ll`, `clp`, `ppl_only`, `rolling`, `swce_loss`, `chat` or `sc`",
    suffix: Some("Inferencer"),
};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum InferencerName {
    Ppl,
    PplOnly,
    InferencePpl,
    Gen,
    Loglikelihood,
    MeanLoglikelihood,
    Clp,
    Rolling,
    SwceLoss,
    Chat,
    SelfConsistency,
}

pub(crate) const MODES: Choices<'_, ChatMode> =
    plain(&[("last", ChatMode::Last), ("every", ChatMode::Every), ("every_with_gt", ChatMode::EveryWithGt)]);

/// Sides on which padding would be, or on which a text that is too long is cut.
pub(crate) const SIDES: Choices<'_, ()> = plain(&[("left", ()), ("right", ())]);

/// Sides on which a text that is too long is cut: one of the two, or the side that tokenizer_config.json names.
pub(crate) const TRUNCATION_SIDES: Choices<'_, ()> = plain(&[("left", ()), ("right", ()), ("own", ())]);

pub(crate) const DEVICES: Choices<'_, DeviceRequest> =
    plain(&[("auto", DeviceRequest::Auto), ("cpu", DeviceRequest::Cpu), ("cuda", DeviceRequest::Cuda)]);

pub(crate) const DTYPES: Choices<'_, Option<Dtype>> = plain(&[
    ("auto", None),
    ("float32", Some(Dtype::Float32)),
    ("bfloat16", Some(Dtype::Bfloat16)),
    ("float16", Some(Dtype::Float16)),
]);

pub(crate) const PROFILES: Choices<'_, NumericProfile> = plain(&[
    ("canonical", NumericProfile::Canonical),
    ("opencompass", NumericProfile::Opencompass),
    ("lm-eval-hf", NumericProfile::LmEvalHf),
]);

pub(crate) const SYSTEM: Choices<'_, RefusedSystem> = plain(&[("user", RefusedSystem::User)]);

pub(crate) const KINDS: Choices<'_, ModelKind> = Choices {
    // `echo` answers with a hash of the prompt: no model at all, for tests of everything around one.
    now: &[
        ("hf", ModelKind::Hf),
        ("llama", ModelKind::Llama),
        ("internlm", ModelKind::InternLm),
        ("openai", ModelKind::Endpoint),
        ("echo", ModelKind::Echo),
    ],
    aliases: &[],
    later: &[],
    meanwhile: "",
    suffix: None,
};

/// The names that `add_bos_token` and `batch_size` take.
pub(crate) fn auto() -> Words {
    Words { names: vec!["auto"], aliases: Vec::new(), suffix: None }
}

pub(crate) const DROP_MIDDLE: Choices<'_, DropMiddle> =
    plain(&[("tokens", DropMiddle::Tokens), ("texts", DropMiddle::Texts)]);

pub(crate) const THINKING_MODES: Choices<'_, ThinkingMode> =
    plain(&[("auto", ThinkingMode::Auto), ("on", ThinkingMode::On), ("off", ThinkingMode::Off)]);

/// Ends of thinking at its budget; `true` ends it for the model.
pub(crate) const LENGTHS: Choices<'_, u32> = plain(&[("rest", REST)]);

pub(crate) const AT_BUDGET: Choices<'_, bool> = plain(&[("force", true), ("cut", false)]);

pub(crate) const UNFINISHED: Choices<'_, Unfinished> =
    plain(&[("wrong", Unfinished::Wrong), ("unscored", Unfinished::Unscored)]);

/// The grades of thinking that servers and templates know.
pub(crate) fn efforts() -> Words {
    let names = vec!["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    Words { names, aliases: Vec::new(), suffix: None }
}

/// Families of models by their marks of thinking.
pub(crate) fn families() -> Words {
    let names = FAMILIES.iter().map(|family| family.name).collect();
    Words { names, aliases: Vec::new(), suffix: None }
}

pub(crate) const RETRIEVERS: Choices<'_, RetrieverName> = Choices {
    now: &[
        ("zero", RetrieverName::Zero),
        ("fix_k", RetrieverName::FixK),
        ("random", RetrieverName::Random),
        ("bm25", RetrieverName::Bm25),
        ("sliding_window", RetrieverName::SlidingWindow),
        ("first_n", RetrieverName::FirstN),
        ("sampled", RetrieverName::Sampled),
    ],
    aliases: &[],
    later: &["topk", "votek", "dpp", "mdl"],
    meanwhile: "it ranks by a model's embeddings; use `bm25`, which ranks by words",
    suffix: Some("Retriever"),
};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum RetrieverName {
    Zero,
    FixK,
    Random,
    Bm25,
    SlidingWindow,
    FirstN,
    Sampled,
}

pub(crate) const FORMAT: Choices<'_, compass_settings::FileFormat> = plain(FORMATS);

pub(crate) const ORDERS: Choices<'_, Orders> =
    plain(&[("circular", Orders::Circular), ("all_possible", Orders::AllPossible)]);

pub(crate) const AS: Choices<'_, Cast> = Choices {
    now: &[("int", Cast::Int), ("float", Cast::Float), ("text", Cast::Text)],
    aliases: &[("str", Cast::Text)],
    later: &[],
    meanwhile: "",
    suffix: None,
};

/// `None` is `auto`: what the model's prompts are decides.
pub(crate) const APIS: Choices<'_, Option<EndpointApi>> =
    plain(&[("auto", None), ("chat", Some(EndpointApi::Chat)), ("completions", Some(EndpointApi::Completions))]);

pub(crate) const OFFLINE: Choices<'_, bool> = plain(&[("finish", false), ("continue", true)]);

pub(crate) const RUNNERS: Choices<'_, LauncherName> = Choices {
    now: &[
        ("local", LauncherName::Local),
        ("slurm", LauncherName::Slurm),
        ("dlc", LauncherName::Dlc),
        ("command", LauncherName::Command),
        ("none", LauncherName::None),
    ],
    aliases: &[("slurm_sequential", LauncherName::Slurm)],
    later: &["volc", "rjob", "local_api"],
    meanwhile: "write `type = \"none\"` and start workers with the launcher yourself, or `type = \"local\"`",
    suffix: Some("Runner"),
};

/// A launcher by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LauncherName {
    Local,
    Slurm,
    Dlc,
    Command,
    None,
}

pub(crate) const PARTITIONERS: Choices<'_, PartitionerName> = Choices {
    now: &[
        ("balanced", PartitionerName::Balanced),
        ("naive", PartitionerName::Naive),
        ("size", PartitionerName::Size),
        ("num_worker", PartitionerName::NumWorker),
    ],
    aliases: &[],
    later: &["subjective_naive", "subjective_size", "subjective_num_worker"],
    meanwhile: "use `balanced`",
    suffix: Some("Partitioner"),
};

pub(crate) const STRATEGIES: Choices<'_, PartitionStrategy> =
    plain(&[("heuristic", PartitionStrategy::Heuristic), ("split", PartitionStrategy::Split)]);

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum PartitionerName {
    Naive,
    Size,
    NumWorker,
    Balanced,
}

/// The last part of a dotted name.
pub(crate) fn bare_class(written: &str) -> &str {
    written.rsplit('.').next().unwrap_or_default()
}

/// The name that stands for the model's own chat template.
pub(crate) fn chat() -> Words {
    Words { names: vec!["chat"], aliases: Vec::new(), suffix: None }
}

pub(crate) fn card() -> Words {
    Words { names: vec!["card"], aliases: Vec::new(), suffix: None }
}

/// A class: what it is here.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    /// The layout of its directory.
    pub(crate) kind: &'static str,
    /// Set if prompts go through the chat template.
    pub(crate) chat: bool,
    pub(crate) engine: Engine,
}

/// Engine whose settings a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Transformers,
    Lmdeploy,
    Vllm,
    /// The code that Meta or InternLM published with their weights: it has none.
    Published,
    /// A server: it has none.
    Endpoint,
}

pub(crate) const fn class(name: &'static str, kind: &'static str, chat: bool, engine: Engine) -> Class {
    Class { name, kind, chat, engine }
}

pub(crate) const CLASSES: &[Class] = &[
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
pub(crate) const ENDPOINTS: &[&str] = &[
    "AI360GPT", "Baidu", "BaiChuan", "Bailing", "BlueLM", "ByteDance", "Claude", "Deepseek", "Doubao", "ERNIEBot", "Gemini",
    "Hunyuan", "KrGPT", "LightllmAPI", "LightllmChatAPI", "LiteLLM", "MiniMax", "Mistral", "MoonShot", "Nanbeige", "OpenAI",
    "PanGu", "Qwen", "Rendu", "SenseTime", "StepFun", "TeleChat", "TurboMindAPI", "UniGPT", "XunFei", "Yayi", "YiAPI", "ZhiPu",
];

/// Returns `true` if a class is a server that is asked, not weights.
pub(crate) fn is_endpoint(written: &str) -> bool {
    let name = bare_class(written);
    CLASSES.iter().any(|class| class.name == name && class.engine == Engine::Endpoint)
}

/// Returns `true` if a class of OpenCompass asks a server, served here or not.
pub(crate) fn asks_a_server(written: &str) -> bool {
    let name = bare_class(written);
    is_endpoint(written) || name.ends_with("API") || ENDPOINTS.iter().any(|endpoint| name.starts_with(endpoint))
}

/// Names of the classes that are served, the usual ones first.
pub(crate) fn class_names() -> Vec<&'static str> {
    CLASSES.iter().map(|class| class.name).collect()
}

/// The names that `type` takes: kinds, and classes.
pub(crate) fn model_types() -> Words {
    let words = KINDS.words();
    Words { aliases: words.aliases.into_iter().chain(class_names()).collect(), ..words }
}
