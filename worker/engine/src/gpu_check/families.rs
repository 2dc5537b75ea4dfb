//! Small models of every kind of layer, with the same random weights on the device and on the CPU.

use super::finding::Finding;
use super::setup::CheckSetup;
use crate::BareModel;
use crate::device::DeviceChoice;
use compass_plan::Dtype;
use compass_plan::engine::EngineFault;
use serde_json::{Value, json};
use std::path::Path;

const SECTION: &str = "families";

const SEED: i64 = 5;

/// Tokens of a sequence, and how many of them are computed at once when it is decoded.
const TOKENS: usize = 48;
const PROMPT: usize = 29;

/// Largest difference of a logit from the CPU's in f32, relative to the largest logit.
const MOST_F32: f64 = 1e-4;

/// The same in bfloat16, unless it is off by more on the CPU too: a token may then go to another expert.
const MOST_BF16: f64 = 5e-2;

pub(super) fn run(setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    let root = Path::new(&setup.plan.path).join("families");
    for (name, config) in families() {
        let folder = root.join(name);
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join("config.json"), config.to_string()));
        written.map_err(|error| EngineFault::Missing(format!("{}: {error}", folder.display())))?;
        let compared = compare(setup, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        let (f32, bf16, own, best) = match compared {
            Ok(Compared { f32, bf16, own, best }) => (f32, bf16, own, best),
            // The other families can be compared nevertheless.
            Err(fault) => {
                report(Finding::measured(SECTION, name, fault.to_string(), "").judged("computed", Some(false)));
                continue;
            }
        };
        report(
            Finding::measured(SECTION, format!("{name}: float32 unlike the CPU's"), f32, "")
                .judged(format!("at most {MOST_F32:.0e} of the largest logit"), Some(f32 <= MOST_F32)),
        );
        let most = MOST_BF16.max(2.0 * own);
        report(
            Finding::measured(SECTION, format!("{name}: bfloat16 unlike the CPU's float32"), bf16, "")
                .judged(format!("at most {most:.2} of the largest logit"), Some(bf16 <= most)),
        );
        report(Finding::measured(SECTION, format!("{name}: best tokens that are the same in bfloat16"), best, "%"));
    }
    let _ = std::fs::remove_dir_all(&root);
    Ok(())
}

/// Differences of a model on the device from the CPU's in f32.
struct Compared {
    /// The largest difference in f32 and in bf16, computed at once and with a cache.
    f32: f64,
    bf16: f64,
    /// The CPU's own difference in bf16.
    own: f64,
    /// Share of best tokens in bf16 that agree with f32, in percent.
    best: f64,
}

fn compare(setup: &CheckSetup, folder: &Path) -> Result<Compared, EngineFault> {
    let threads = (setup.threads, SEED);
    let mut here = BareModel::random(folder, Dtype::Float32, &DeviceChoice::Cpu, threads)?;
    let vocabulary = here.vocabulary();
    let tokens: Vec<u32> = (0..TOKENS).map(|at| ((at * 37 + at * at * 11 + 5) % vocabulary) as u32).collect();
    let wanted = here.prefill(&tokens)?;
    let mut off = [0.0f64; 2];
    let mut same = 0.0;
    for (place, dtype) in [Dtype::Float32, Dtype::Bfloat16].into_iter().enumerate() {
        let mut there = BareModel::random(folder, dtype, &setup.device, threads)?;
        for got in [there.prefill(&tokens)?, there.decode(&tokens, PROMPT)?] {
            off[place] = largest(off[place], distance(&got, &wanted));
            same = share_of_same(&got, &wanted, vocabulary);
        }
    }
    let mut own = BareModel::random(folder, Dtype::Bfloat16, &DeviceChoice::Cpu, threads)?;
    let own = largest(distance(&own.prefill(&tokens)?, &wanted), distance(&own.decode(&tokens, PROMPT)?, &wanted));
    Ok(Compared { f32: off[0], bf16: off[1], own, best: 100.0 * same })
}

/// Returns the larger number; NaN if either is NaN.
pub(super) fn largest(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.max(other) }
}

pub(super) fn distance(got: &[f32], wanted: &[f32]) -> f64 {
    let most = wanted.iter().map(|logit| f64::from(logit.abs())).fold(0.0, f64::max);
    let off = got.iter().zip(wanted).map(|(got, wanted)| f64::from(got - wanted).abs());
    if got.len() == wanted.len() { off.fold(0.0, largest) / most.max(1e-9) } else { f64::NAN }
}

pub(super) fn share_of_same(got: &[f32], wanted: &[f32], vocabulary: usize) -> f64 {
    let best = |row: &[f32]| row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(id, _)| id);
    let rows = got.chunks(vocabulary).zip(wanted.chunks(vocabulary));
    let same = rows.filter(|(got, wanted)| best(got) == best(wanted)).count();
    same as f64 * vocabulary as f64 / wanted.len().max(1) as f64
}

/// Configurations whose widths suit the kernels of a GPU, with the keys that each adds.
pub(super) fn families() -> Vec<(&'static str, Value)> {
    let with = |own: Value| {
        let mut all = json!({
            "vocab_size": 320, "hidden_size": 128, "intermediate_size": 160, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2
        });
        if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
            all.extend(own);
        }
        all
    };
    let llama3 = json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32
    });
    let of = |class: &str, model_type: &str, own: Value| {
        let mut own = own;
        own["architectures"] = json!([format!("{class}ForCausalLM")]);
        own["model_type"] = json!(model_type);
        with(own)
    };
    let mixture = json!({
        "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 48, "shared_expert_intermediate_size": 64,
        "norm_topk_prob": false, "decoder_sparse_step": 1, "mlp_only_layers": []
    });
    let latent = json!({
        "q_lora_rank": null, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 16,
        "num_key_value_heads": 4, "n_routed_experts": 6, "n_shared_experts": 2, "num_experts_per_tok": 3,
        "moe_intermediate_size": 48, "first_k_dense_replace": 1, "moe_layer_freq": 1, "topk_method": "greedy",
        "n_group": null, "topk_group": null, "norm_topk_prob": false, "routed_scaling_factor": 1.0, "rope_scaling": null
    });
    vec![
        ("llama", of("Llama", "llama", json!({ "rope_scaling": llama3 }))),
        ("mistral, windows", of("Mistral", "mistral", json!({ "sliding_window": 12 }))),
        ("qwen2", of("Qwen2", "qwen2", json!({ "use_sliding_window": false }))),
        ("qwen3", of("Qwen3", "qwen3", json!({ "head_dim": 64, "use_sliding_window": false }))),
        ("internlm2", of("InternLM2", "internlm2", json!({ "bias": false, "rope_scaling": null }))),
        (
            "gemma2, caps",
            of(
                "Gemma2",
                "gemma2",
                json!({
                    "head_dim": 32, "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0,
                    "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 32, "sliding_window": 16,
                    "layer_types": ["sliding_attention", "full_attention"]
                }),
            ),
        ),
        (
            "glm4",
            of(
                "Glm4",
                "glm4",
                json!({ "head_dim": 32, "partial_rotary_factor": 0.5, "attention_bias": true, "pad_token_id": 0 }),
            ),
        ),
        ("olmo2", of("Olmo2", "olmo2", json!({}))),
        ("phi3", of("Phi3", "phi3", json!({ "original_max_position_embeddings": 64, "pad_token_id": 0 }))),
        (
            "gpt2",
            json!({
                "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 320, "n_embd": 128, "n_head": 4,
                "n_layer": 2, "n_positions": 64, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5
            }),
        ),
        (
            "gpt-neox",
            json!({
                "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "vocab_size": 320, "hidden_size": 128,
                "intermediate_size": 160, "num_attention_heads": 4, "num_hidden_layers": 2, "rotary_pct": 0.25,
                "rotary_emb_base": 10000, "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "hidden_act": "gelu",
                "use_parallel_residual": true, "tie_word_embeddings": false
            }),
        ),
        (
            "opt",
            json!({
                "architectures": ["OPTForCausalLM"], "model_type": "opt", "vocab_size": 320, "hidden_size": 128, "ffn_dim": 160,
                "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 64, "word_embed_proj_dim": 128,
                "activation_function": "relu", "do_layer_norm_before": true, "enable_bias": true
            }),
        ),
        (
            "mixtral",
            of(
                "Mixtral",
                "mixtral",
                json!({
                    "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": null
                }),
            ),
        ),
        ("qwen2_moe", of("Qwen2Moe", "qwen2_moe", mixture)),
        ("deepseek_v2", of("DeepseekV2", "deepseek_v2", latent)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_relative_and_nan_stays() {
        assert_eq!(distance(&[1.0, -3.0], &[1.0, -4.0]), 0.25);
        assert!(distance(&[f32::NAN], &[1.0]).is_nan() && distance(&[1.0], &[1.0, 2.0]).is_nan());
        assert!(largest(f64::NAN, 1.0).is_nan() && largest(0.5, 1.0) == 1.0);
        assert_eq!(share_of_same(&[1.0, 2.0, 5.0, 0.0], &[0.0, 9.0, 1.0, 2.0], 2), 0.5);
    }

    #[test]
    fn every_configuration_makes_a_model() {
        let folder = tempfile::tempdir().unwrap();
        for (name, config) in families() {
            std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
            let made = BareModel::random(folder.path(), Dtype::Float32, &DeviceChoice::Cpu, (1, SEED));
            let mut made = made.map_err(|fault| format!("{name}: {fault}")).unwrap();
            let logits = made.prefill(&[1, 2, 3]).unwrap();
            let most = logits.iter().fold(0.0f32, |most, logit| most.max(logit.abs()));
            // Weights without effect would make any two devices agree.
            assert!(logits.len() == 3 * 320 && most > 0.3 && most < 1e4, "{name}: {most}");
            assert_ne!(logits[..320], logits[320..640], "{name}");
        }
    }
}
