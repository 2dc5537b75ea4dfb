//! One [[model]].

use super::chat_template::{self, Chat};
use super::meta_template::{self};
use super::{card, class, endpoint, files, kwargs, thinking, truncation};
use crate::keys::vocabulary::{
    DEVICES, DROP_MIDDLE, DTYPES, KINDS, PROFILES, SYSTEM, THINKING_MODES, auto, chat, model_types,
};
use crate::keys::{Kind, LENGTH, TableKeys, key};
use crate::read::abbr;
use crate::read::decoding::{self, KWARGS};
use crate::read::evaluation::postprocessor::{self, POSTPROCESSOR};
use crate::read::fields::{Fields, flag, whole};
use crate::read::models::endpoint::{ENDPOINT, PromptForm};
use crate::read::models::kwargs::{MODEL_KWARGS, TOKENIZER_KWARGS};
use crate::read::models::meta_template::META_TEMPLATE;
use crate::read::models::thinking::THINKING;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::prompt::{MetaStyle, MetaTemplate};
use compass_plan::{BosPolicy, EndpointApi, ModelKind, NumericProfile};
use compass_settings::ModelConfig;

pub(crate) static MODEL: TableKeys = TableKeys {
    name: "model",
    title: "[[model]]",
    keys: &[
        key("abbr", Kind::Text, "name in the table and in paths").required(),
        key(
            "path",
            Kind::Path,
            "directory of the model, its repository on the hub, or a folder in an object store; the local hub cache \
             comes first (`HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`, `~/.cache/huggingface/hub`)",
        )
        .takes("path, `owner/name` or `profile:s3://bucket/prefix/`")
        .default("required without `endpoint`"),
        key(
            "type",
            Kind::Choice(model_types),
            "layout of the directory: Hugging Face's, Meta's (params.json, consolidated.NN.pth, tokenizer.model), that of \
             InternLM's training code (model_config.pt, model_tpN_ppN.pt). `openai` is a server, see `endpoint`. `echo` answers with a hash of the prompt, for tests. \
             OpenCompass's classes (`HuggingFaceBaseModel`, `VLLMwithChatTemplate` ...) are understood too, with the settings of their engines",
        )
        .default("`hf`"),
        key("endpoint", Kind::Table(&ENDPOINT), "a server that is asked in place of weights ([models behind an endpoint](endpoints.md)); `path` is left out")
            .default("none"),
        key("inherit", Kind::Text, "takes every key of another model, then overrides").takes("`abbr`").default("none"),
        key("tokenizer_path", Kind::Path, "directory of the tokenizer, or its `tokenizer.model`").default("`path`"),
        key(
            "max_seq_len",
            Kind::from(1),
            "longest input in tokens; where it is written, shots that do not fit are left out before tokens are cut",
        )
        .default("what config.json says"),
        key("max_prompt_len", Kind::from(1), "most tokens of a text before which nothing is cut, where that is less than `max_seq_len`")
            .default("`max_seq_len`"),
        key(
            "reserve_max_out_len",
            Kind::Boolean,
            "a prompt that is continued is cut so that `max_out_len` tokens fit behind it, as by OpenCompass's `HuggingFaceCausalLM`",
        )
        .default("`false`"),
        key(
            "drop_middle",
            Kind::Either(&[Kind::Choice(|| DROP_MIDDLE.words()), Kind::Boolean]),
            "the middle of what is too long goes, not an end; `tokens` (`true`): both ends are joined as they are, `texts`: as texts that \
             are tokenised again",
        )
        .takes("`true`, `false`, `\"tokens\"`, `\"texts\"`")
        .default("`false`"),
        key(
            "sum_loglikelihood",
            Kind::Boolean,
            "`ll` data sets compare sums of the continuation's log-probabilities, as with OpenCompass's `HuggingFaceCausalLM`, not means",
        )
        .default("`false`"),
        key("max_out_len", LENGTH, "tokens to generate where the data set does not say; `rest`: what the prompt leaves of the context")
            .default("64"),
        key("min_out_len", Kind::from(0), "fewest tokens to generate where the data set does not say").default("0"),
        key(
            "dtype",
            Kind::Choice(|| DTYPES.words()),
            "`auto`: the checkpoint's own where the configuration asks for GPUs, else float32; pinned in the plan",
        )
        .default("`auto`"),
        key(
            "device",
            Kind::Choice(|| DEVICES.words()),
            "where the model runs; a GPU is never replaced by the CPU in silence",
        )
        .default("`auto`"),
        key("add_bos_token", Kind::Either(&[Kind::Choice(auto), Kind::Boolean]), "the tokenizer's own rule, always, never")
            .takes("`\"auto\"`, `true`, `false`")
            .default("`\"auto\"`"),
        key(
            "profile",
            Kind::Choice(|| PROFILES.words()),
            "whose formulas hold where they differ ([numbers](numbers.md))",
        )
        .default("`canonical`"),
        key(
            "deterministic",
            Kind::Boolean,
            "on a GPU: a sample's numbers do not depend on what is computed beside it; `false` is faster where few texts are long",
        )
        .default("`true`"),
        key(
            "chat",
            Kind::Either(&[Kind::Choice(auto), Kind::Boolean]),
            "prompts go through the tokenizer's chat template; `auto`: where it has one",
        )
        .takes("`\"auto\"`, `true`, `false`")
        .default("`false`"),
        key(
            "system",
            Kind::Choice(|| SYSTEM.words()),
            "what becomes of a `description` or another system message where the chat template, or the endpoint, refuses the role: `user` \
             puts the text and an empty line before the user's message",
        )
        .takes("`\"user\"`")
        .default("such a sample fails"),
        key(
            "thinking",
            Kind::Either(&[Kind::Choice(|| THINKING_MODES.words()), Kind::Table(&THINKING)]),
            "thinking before the answer: switch, marks, budget ([models that think](thinking.md))",
        )
        .takes("`\"auto\"`, `\"on\"`, `\"off\"` or table")
        .default("`\"auto\"`"),
        key(
            "chat_template_kwargs",
            Kind::MapOf(&Kind::Anything),
            "variables of the chat template, as in transformers' `apply_chat_template`; sent along to an endpoint",
        )
        .default("none"),
        key(
            "fewshot_as_multiturn",
            Kind::Boolean,
            "with a chat: shots as turns of their own, or in the question's turn",
        )
        .default("`true`"),
        key(
            "meta_template",
            Kind::Either(&[Kind::Choice(chat), Kind::Table(&META_TEMPLATE)]),
            "how roles are wrapped, as OpenCompass writes it",
        )
        .takes("table or `\"chat\"`")
        .default("none"),
        key("run_cfg", Kind::Table(&RUN_CFG), "what one replica takes").default("`{ num_gpus = 0 }`"),
        KWARGS,
        key("stop_words", Kind::Texts, "strings that end a generation").default("none"),
        key("pred_postprocessor", POSTPROCESSOR, "applied to this model's answers before the data set's")
            .takes("postprocessor")
            .default("none"),
        key("pools", Kind::Texts, "names or labels of the pools where it may run").default("wherever its files are"),
        key("tokenizer_kwargs", Kind::Table(&TOKENIZER_KWARGS), "what OpenCompass hands to the tokenizer").default("none"),
        key("model_kwargs", Kind::Table(&MODEL_KWARGS), "what OpenCompass hands to transformers").default("none"),
        key(
            "batch_size",
            Kind::Either(&[Kind::Choice(auto), Kind::from(1)]),
            "accepted; what runs at once follows from free memory",
        )
        .takes("`\"auto\"` or whole number")
        .default("`\"auto\"`"),
        key("peft_path", Kind::Path, "directory of a LoRA or DoRA adapter as `peft` saves it, merged into the weights"),
    ],
    types: &[],
};

pub(crate) static RUN_CFG: TableKeys = TableKeys {
    name: "run_cfg",
    title: "`run_cfg`",
    keys: &[
        key("num_gpus", Kind::from(0), "GPUs of one replica").default("0"),
        key("num_procs", Kind::from(1), "processes of one replica: 1, or as many as `num_gpus`").default("1"),
    ],
    types: &[],
};

/// Short answers are what most data sets want; one that wants long ones says so in its inferencer.
const MAX_OUT_LEN: u32 = 64;

/// Reads a model; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, fields: Fields<'_>) -> Option<ModelConfig> {
    let span = fields.span;
    match class::resolve(check, fields.table, span) {
        Some(of_class) => read_kind(check, Fields::new(&of_class?, span, &MODEL)),
        None => read_kind(check, fields),
    }
}

fn read_kind(check: &mut Check, mut fields: Fields<'_>) -> Option<ModelConfig> {
    let span = fields.span;
    let abbr = abbr::read(check, &mut fields);
    fields.get("inherit");
    let endpoint_node = fields.get("endpoint").filter(|node| !node.is_empty());
    let usual = if endpoint_node.is_some() { ModelKind::Endpoint } else { ModelKind::Hf };
    let kind = fields.get("type").map_or(Some(usual), |node| KINDS.pick(check, "type", node));
    if let (true, Some(node)) = (kind.is_some_and(|kind| kind != ModelKind::Endpoint), endpoint_node) {
        let help = "remove `type`, or write `type = \"openai\"`";
        check.error(node.span, "`endpoint` in a model of another type".into(), Some(help.into()));
        return None;
    }
    let tokenizer_node = fields.get("tokenizer_path").filter(|node| !node.is_empty());
    let files = files::read(check, &mut fields, kind);
    let max_seq_len = fields.u32(check, "max_seq_len");
    let max_out_len = fields.length(check, "max_out_len");
    let min_out_len = fields.u32(check, "min_out_len");
    let chat_node = fields.get("chat");
    let chat = chat_node.and_then(|node| chat_template::read(check, node)).unwrap_or(Chat::Never);
    // lm-eval's name, and its default.
    let turns = fields.get("fewshot_as_multiturn").and_then(|node| flag(check, "fewshot_as_multiturn", node));
    let system_node = fields.get("system");
    let system = system_node.and_then(|node| SYSTEM.pick(check, "system", node)).unwrap_or_default();
    if let Some(node) = fields.get("batch_size") {
        batch_size(check, node);
    }
    let dtype = fields.get("dtype").and_then(|node| DTYPES.pick(check, "dtype", node)).flatten();
    let device = fields.get("device").and_then(|node| DEVICES.pick(check, "device", node)).unwrap_or_default();
    let bos = fields.get("add_bos_token").and_then(|node| bos(check, node)).unwrap_or(BosPolicy::Auto);
    let profile_node = fields.get("profile");
    let profile = profile_node.and_then(|node| PROFILES.pick(check, "profile", node));
    let deterministic = fields.get("deterministic").and_then(|node| flag(check, "deterministic", node)).unwrap_or(true);
    let num_gpus = fields.table(check, "run_cfg", &RUN_CFG).map_or(0, |run| run_cfg(check, run));
    let tokenizer_kwargs = kwargs::read(check, &mut fields);
    let truncation = truncation::read(check, &mut fields);
    let key = "sum_loglikelihood";
    let sums_loglikelihood = fields.get(key).and_then(|node| flag(check, key, node)).unwrap_or_default();
    let generation = decoding::read(check, &mut fields);
    let stop_words = stop_words(check, &mut fields);
    let key = "pred_postprocessor";
    let pred_postprocessors = fields.get(key).map_or(Some(Vec::new()), |node| postprocessor::read(check, key, node));
    let meta_template = fields.get("meta_template").map(|node| meta_template::read(check, node));
    let pools = fields.texts(check, "pools").unwrap_or_default();
    let thinking = thinking::read(check, &mut fields);
    let adapter = fields.get("peft_path").filter(|node| !node.is_empty());
    let adapter = adapter.and_then(|node| files::adapter(check, node, kind)).unwrap_or_default();
    fields.finish(check);
    let files = files?;
    let decoding = match generation.card {
        Some(span) => {
            let folder = files.remote.as_ref().map_or(&files.path, |remote| &remote.path);
            let owner = card::Owner { abbr: abbr.as_deref().unwrap_or_default(), kind, folder };
            card::read(check, span, &owner, &generation.decoding)
        }
        None => Some(generation.decoding),
    };
    let is_told_chat = chat_node.is_some() && chat != Chat::Auto;
    let chat = match (chat, chat_node, &abbr) {
        // A meta template of its own says how prompts look.
        (Chat::Auto, ..) if meta_template.is_some() || endpoint_node.is_some() => false,
        (Chat::Auto, Some(node), Some(abbr)) => {
            let tokenizer = files.remote.as_ref().map_or(&files.tokenizer_path, |remote| &remote.tokenizer_path);
            chat_template::decide(check, node, abbr, tokenizer)
        }
        (Chat::Always, Some(node), Some(abbr))
            if (kind == Some(ModelKind::Hf) || tokenizer_node.is_some()) && meta_template.is_none() =>
        {
            let tokenizer = files.remote.as_ref().map_or(&files.tokenizer_path, |remote| &remote.tokenizer_path);
            chat_template::require(check, node, abbr, tokenizer);
            true
        }
        (chat, ..) => chat == Chat::Always,
    };
    // `None` would be a model without one: what is wrong must not become that.
    let meta_template = match meta_template {
        Some(read) => Some(read?),
        None => None,
    };
    let meta_template = match turns {
        Some(false) if chat || meta_template.is_some() => {
            Some(MetaTemplate { one_turn: true, ..meta_template.unwrap_or_else(MetaTemplate::chat) })
        }
        _ => meta_template,
    };
    let of_chat = meta_template.as_ref().map(|meta| meta.style == MetaStyle::Messages);
    if chat && of_chat == Some(false) {
        let help = "give every role an `api_role`, or remove `chat`";
        check.error(span, "`chat = true` with a `meta_template` that makes one text".into(), Some(help.into()));
        return None;
    }
    let endpoint = match (kind, endpoint_node) {
        (Some(ModelKind::Endpoint), Some(node)) => {
            let messages = chat || of_chat == Some(true);
            let is_told = is_told_chat || meta_template.is_some();
            let form = PromptForm {
                messages: is_told.then_some(messages),
                tokenizer: tokenizer_node.filter(|_| endpoint_node.is_some()),
            };
            Some(endpoint::read(check, node, form)?)
        }
        (Some(ModelKind::Endpoint), None) => {
            let help = "write `endpoint = { url = \"http://127.0.0.1:8000/v1\", model = \"...\" }`";
            check.error(span, "missing key `endpoint` in [[model]]".into(), Some(help.into()));
            return None;
        }
        _ => None,
    };
    if let (Some(_), Some(NumericProfile::Opencompass), Some(node)) = (&endpoint, profile, profile_node) {
        let help = "write `profile = \"canonical\"`: the server has the numbers, by lm-eval's sum";
        check.error(node.span, "`profile = \"opencompass\"` of a model behind an endpoint".into(), Some(help.into()));
        return None;
    }
    let is_asked_in_messages = endpoint.as_ref().is_some_and(|endpoint| endpoint.api == EndpointApi::Chat);
    let is_rendered_here = endpoint.is_some() && tokenizer_node.is_some();
    let chat = chat || of_chat == Some(true) || is_asked_in_messages || is_rendered_here;
    if let (false, Some(node)) = (chat, system_node) {
        let message = "`system` has no effect: prompts of this model are one text".to_owned();
        check.note(node.span, message, "write `chat = true`, or remove `system`");
    }
    let (abbr, kind, profile, thinking) = (abbr?, kind?, profile.unwrap_or(NumericProfile::Canonical), thinking?);
    let max_out_len = max_out_len.or(generation.max_new_tokens).unwrap_or(MAX_OUT_LEN);
    let judged = thinking::Judged {
        abbr: &abbr,
        has_template: chat && (kind == ModelKind::Hf || is_rendered_here),
        endpoint: endpoint.as_ref().map(|endpoint| endpoint.api),
        tokenizer: files.remote.as_ref().map_or(&files.tokenizer_path, |remote| &remote.tokenizer_path),
        profile,
        context: max_seq_len,
        max_out_len,
    };
    if !thinking.judge(check, &judged) {
        return None;
    }
    Some(ModelConfig {
        abbr,
        kind,
        path: files.path,
        tokenizer_path: files.tokenizer_path,
        peft_path: adapter.path,
        fetched_adapter: adapter.fetched,
        remote: files.remote,
        max_seq_len,
        max_out_len,
        min_out_len: min_out_len.or(generation.min_new_tokens).unwrap_or(0),
        decoding: decoding?,
        chat,
        system,
        chat_template_kwargs: thinking.kwargs,
        thinking: thinking.thinking,
        tokenizer_kwargs,
        truncation,
        sums_loglikelihood,
        dtype,
        device,
        deterministic,
        bos,
        profile,
        meta_template,
        stop_words,
        num_gpus,
        pools: pools.into_iter().map(|(name, _)| name).collect(),
        pred_postprocessors: pred_postprocessors?,
        endpoint,
        absent: check.absent.take(),
    })
}

fn batch_size(check: &mut Check, node: &Node) {
    match &node.value {
        Value::String(text) if text == "auto" => {}
        Value::Integer(_) => {
            if whole(check, "batch_size", node, 1..=i64::from(u32::MAX)).is_some() {
                let help = "how much runs at once follows from the memory that is free; write `batch_size = \"auto\"`";
                let message = check.quoted("batch_size", node) + " has no effect";
                check.unneeded(node.span, "`batch_size`", message, help);
            }
        }
        _ => check.wrong_type("batch_size", node, "\"auto\" or a whole number", "\"auto\""),
    }
}

fn bos(check: &mut Check, node: &Node) -> Option<BosPolicy> {
    match &node.value {
        Value::Boolean(true) => Some(BosPolicy::Always),
        Value::Boolean(false) => Some(BosPolicy::Never),
        Value::String(text) if text == "auto" => Some(BosPolicy::Auto),
        _ => {
            check.wrong_type("add_bos_token", node, "\"auto\" or a boolean", "\"auto\"");
            None
        }
    }
}

fn run_cfg(check: &mut Check, mut fields: Fields<'_>) -> u32 {
    let gpus = fields.u32(check, "num_gpus").unwrap_or(0);
    // So many processes are one replica over as many GPUs, and over no other number.
    if let Some(procs) = fields.u32(check, "num_procs").filter(|procs| *procs > 1 && *procs != gpus)
        && let Some(node) = fields.table.get("num_procs")
    {
        let message = format!("`num_procs = {procs}` and `num_gpus = {gpus}` differ");
        let help = "write the same number for both: one process for each GPU of a replica";
        check.error(node.span, message, Some(help.into()));
    }
    fields.finish(check);
    gpus
}

fn stop_words(check: &mut Check, fields: &mut Fields<'_>) -> Vec<String> {
    let words = fields.texts(check, "stop_words").unwrap_or_default();
    crate::read::datasets::inferencer::stop_strings(check, "stop_words", words)
}
