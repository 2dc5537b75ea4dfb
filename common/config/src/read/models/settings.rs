//! Settings of other engines beside a class of models, `engine_config` and `model_kwargs`, as keys of ours: how long an input
//! may be, over how many GPUs a replica lies, in which format it computes.
//!
//! Settings that only make an engine faster or smaller are noted once for a model. Settings that would change a number are refused.

use super::files::looks_like_hub_id;
use crate::keys::vocabulary::{Class, Engine};
use crate::read::fields::any_table;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, put};

/// Names of settings without effect, for one note.
#[derive(Debug, Default)]
pub(crate) struct Ignored(Vec<(String, Span)>);

impl Ignored {
    pub(crate) fn add(&mut self, name: impl Into<String>, span: Span) {
        self.0.push((name.into(), span));
    }

    pub(crate) fn note(self, check: &mut Check) {
        let Some((_, span)) = self.0.first() else { return };
        let names: Vec<String> = self.0.iter().map(|(name, _)| format!("`{name}`")).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        check.note(*span, format!("{} {have} no effect", names.join(", ")), "the engine here has no such setting");
    }
}

#[rustfmt::skip]
const OF_LMDEPLOY: &[&str] = &[
    "max_batch_size", "cache_max_entry_count", "cache_block_seq_len", "cache_chunk_size", "enable_prefix_caching", "download_dir",
    "revision", "num_tokens_per_iter", "max_prefill_iters", "max_prefill_token_num", "prefill_interval", "block_size",
    "thread_safe", "eager_mode", "num_cpu_blocks", "num_gpu_blocks", "dp", "ep", "use_logn_attn", "distributed_executor_backend",
];
#[rustfmt::skip]
const OF_VLLM: &[&str] = &[
    "gpu_memory_utilization", "trust_remote_code", "enforce_eager", "max_num_seqs", "max_num_batched_tokens", "swap_space",
    "cpu_offload_gb", "seed", "disable_log_stats", "enable_prefix_caching", "enable_chunked_prefill", "tokenizer_mode",
    "distributed_executor_backend", "disable_custom_all_reduce", "block_size", "load_format", "enable_expert_parallel",
    "pipeline_parallel_size", "device",
];
#[rustfmt::skip]
const OF_TRANSFORMERS: &[&str] = &[
    "device_map", "trust_remote_code", "low_cpu_mem_usage", "max_memory", "attn_implementation", "use_flash_attention_2",
    "use_safetensors", "offload_folder", "local_files_only", "cache_dir", "resume_download", "use_cache", "token",
];

/// `engine_config` of lmdeploy. `false` when something is wrong, which is reported.
pub(crate) fn engine(
    check: &mut Check,
    table: &Table,
    class: &Class,
    model: &mut Table,
    ignored: &mut Ignored,
) -> bool {
    let Some(node) = table.get("engine_config") else { return true };
    let Some(settings) = any_table(check, "engine_config", node) else { return false };
    settings.entries.iter().fold(true, |right, entry| {
        let zero = matches!(entry.node.value, Value::Integer(0)) || matches!(entry.node.value, Value::Float(0.0));
        let one = matches!(entry.node.value, Value::Integer(1)) || matches!(entry.node.value, Value::Float(1.0));
        let full = format!("engine_config.{}", entry.key);
        right
            & match entry.key.as_str() {
                "session_len" | "max_seq_len" => length(model, entry),
                "tp" => gpus(check, model, entry),
                "dtype" => dtype(check, model, entry, &full),
                "model_format" if entry.node.text() == Some("hf") => true,
                "quant_policy" | "rope_scaling_factor" if zero => true,
                // Positions within the model's own are as without it.
                "rope_scaling_factor" if one => {
                    ignored.add(full, entry.key_span);
                    true
                }
                name if OF_LMDEPLOY.contains(&name) && class.engine == Engine::Lmdeploy => {
                    ignored.add(full, entry.key_span);
                    true
                }
                _ => other_numbers(check, entry, &full),
            }
    })
}

/// `model_kwargs`: those of vLLM, or of transformers. `false` when something is wrong, which is reported.
pub(crate) fn model_kwargs(
    check: &mut Check,
    table: &Table,
    class: &Class,
    model: &mut Table,
    ignored: &mut Ignored,
) -> bool {
    let Some(node) = table.get("model_kwargs") else { return true };
    let Some(settings) = any_table(check, "model_kwargs", node) else { return false };
    let without_effect = if class.engine == Engine::Vllm { OF_VLLM } else { OF_TRANSFORMERS };
    settings.entries.iter().fold(true, |right, entry| {
        let full = format!("model_kwargs.{}", entry.key);
        right
            & match entry.key.as_str() {
                "max_model_len" | "max_seq_len" => length(model, entry),
                "tensor_parallel_size" => gpus(check, model, entry),
                "torch_dtype" | "dtype" => dtype(check, model, entry, &full),
                "revision" => revision(model, entry),
                name if without_effect.contains(&name) => {
                    ignored.add(full, entry.key_span);
                    true
                }
                _ => other_numbers(check, entry, &full),
            }
    })
}

fn other_numbers(check: &mut Check, entry: &KeyValue, full: &str) -> bool {
    if entry.node.is_empty() || matches!(entry.node.value, Value::Boolean(false)) {
        return true;
    }
    let help = "remove it, if it changes no number; otherwise convert the model so that its directory says it";
    check.not_yet(entry.key_span, &format!("`{full}`"), help);
    false
}

/// The longest input, where the model itself does not say.
fn length(model: &mut Table, entry: &KeyValue) -> bool {
    put(model, "max_seq_len", entry.key_span, entry.node.value.clone());
    true
}

/// GPUs of a replica: at least so many.
fn gpus(check: &mut Check, model: &mut Table, entry: &KeyValue) -> bool {
    put(model, "run_cfg", entry.key_span, Value::Table(Table::default()));
    let Some(Node { value: Value::Table(run), .. }) = model.get_mut("run_cfg") else { return true };
    let fewer = match (run.get("num_gpus").map(|node| &node.value), &entry.node.value) {
        (Some(Value::Integer(known)), Value::Integer(wanted)) => known < wanted,
        (None, Value::Integer(wanted)) => *wanted > 1,
        (known, _) => known.is_none(),
    };
    if fewer {
        if let (Some(Value::Integer(known)), Value::Integer(wanted)) =
            (run.remove("num_gpus").map(|node| node.value), &entry.node.value)
        {
            let message = format!("`{}` asks for more GPUs ({wanted}) than `run_cfg.num_gpus` ({known})", entry.key);
            check.note(entry.key_span, message, "the greater number counts, as the model is split over so many");
        }
        put(run, "num_gpus", entry.key_span, entry.node.value.clone());
    }
    true
}

/// `"torch.bfloat16"`, `"bfloat16"`, `"half"`.
fn dtype(check: &mut Check, model: &mut Table, entry: &KeyValue, full: &str) -> bool {
    let written = entry.node.text().unwrap_or_default();
    let name = match written.strip_prefix("torch.").unwrap_or(written) {
        "auto" => return true,
        "half" => "float16",
        "float" => "float32",
        name => name,
    };
    if ["float32", "float16", "bfloat16"].contains(&name) {
        put(model, "dtype", entry.key_span, Value::String(name.to_owned()));
        return true;
    }
    check.value_not_yet(full, &entry.node, "computed is in float32, float16 and bfloat16");
    false
}

/// A revision of a repository on the hub: `owner/name@revision`.
fn revision(model: &mut Table, entry: &KeyValue) -> bool {
    if let Some(Node { value: Value::String(path), .. }) = model.get_mut("path")
        && let Some(revision) = entry.node.text()
        && looks_like_hub_id(path)
        && !path.contains('@')
    {
        *path = format!("{path}@{revision}");
    }
    true
}
