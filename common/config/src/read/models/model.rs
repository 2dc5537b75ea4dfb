//! One [[model]].

use super::chat_template::{self, Chat};
use super::{class, endpoint, files, kwargs, meta_template, truncation};
use crate::keys::vocabulary::{DEVICES, DTYPES, KINDS, PROFILES, SYSTEM};
use crate::keys::{MODEL, RUN_CFG};
use crate::read::evaluation::postprocessor;
use crate::read::fields::{Fields, flag, whole};
use crate::read::{abbr, decoding};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::prompt::{MetaStyle, MetaTemplate};
use compass_plan::{BosPolicy, EndpointApi, ModelKind, NumericProfile};
use compass_settings::ModelConfig;

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
    let files = files::read(check, &mut fields, kind);
    let max_seq_len = fields.u32(check, "max_seq_len");
    let max_out_len = fields.u32(check, "max_out_len");
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
    let adapter = fields.get("peft_path").filter(|node| !node.is_empty());
    let adapter = adapter.and_then(|node| files::adapter(check, node, kind)).unwrap_or_default();
    fields.finish(check);
    let files = files?;
    let is_told_chat = chat_node.is_some() && chat != Chat::Auto;
    let chat = match (chat, chat_node, &abbr) {
        // A meta template of its own says how prompts look.
        (Chat::Auto, ..) if meta_template.is_some() || endpoint_node.is_some() => false,
        (Chat::Auto, Some(node), Some(abbr)) => {
            let tokenizer = files.remote.as_ref().map_or(&files.tokenizer_path, |remote| &remote.tokenizer_path);
            chat_template::decide(check, node, abbr, tokenizer)
        }
        (Chat::Always, Some(node), Some(abbr)) if kind == Some(ModelKind::Hf) && meta_template.is_none() => {
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
            Some(endpoint::read(check, node, is_told.then_some(messages))?)
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
    let chat = chat || of_chat == Some(true) || is_asked_in_messages;
    if let (false, Some(node)) = (chat, system_node) {
        let message = "`system` has no effect: prompts of this model are one text".to_owned();
        check.note(node.span, message, "write `chat = true`, or remove `system`");
    }
    Some(ModelConfig {
        abbr: abbr?,
        kind: kind?,
        path: files.path,
        tokenizer_path: files.tokenizer_path,
        peft_path: adapter.path,
        fetched_adapter: adapter.fetched,
        remote: files.remote,
        max_seq_len,
        max_out_len: max_out_len.or(generation.max_new_tokens).unwrap_or(MAX_OUT_LEN),
        min_out_len: min_out_len.or(generation.min_new_tokens).unwrap_or(0),
        decoding: generation.decoding,
        chat,
        system,
        tokenizer_kwargs,
        truncation,
        sums_loglikelihood,
        dtype,
        device,
        deterministic,
        bos,
        profile: profile.unwrap_or(NumericProfile::Canonical),
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
