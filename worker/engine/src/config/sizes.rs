//! Rejects absurd sizes, once for all families, before anything is multiplied by them.

use serde_json::Value;

/// Keys of all families that are counts and must be at least 1 if present.
const COUNTS: [&str; 37] = [
    "decoder_sparse_step",
    "dim",
    "ffn_dim",
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "kv_lora_rank",
    "max_position_embeddings",
    "moe_intermediate_size",
    "moe_layer_freq",
    "multiple_of",
    "n_embd",
    "n_group",
    "n_head",
    "n_heads",
    "n_inner",
    "n_kv_heads",
    "n_layer",
    "n_layers",
    "n_positions",
    "n_routed_experts",
    "n_shared_experts",
    "num_attention_heads",
    "num_experts_per_tok",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_layers",
    "num_local_experts",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "shared_expert_intermediate_size",
    "sliding_window",
    "topk_group",
    "v_head_dim",
    "vocab_size",
    "word_embed_proj_dim",
];

/// Maximum size: products of two of these fit in 64 bits.
const MAX_SIZE: i64 = 1 << 28;

/// Checks every count in an object.
///
/// # Errors
/// A message with the first absurd count.
pub(super) fn check(keys: &Value) -> Result<(), String> {
    for key in COUNTS {
        // Meta's value for a vocabulary that only the tokenizer knows.
        let unknown = key == "vocab_size" && keys.get("multiple_of").is_some() && keys[key] == -1;
        let absurd = match &keys[key] {
            Value::Null => false,
            Value::Number(number) => !number.as_i64().is_some_and(|count| (1..=MAX_SIZE).contains(&count)),
            _ => true,
        };
        // transformers 5 writes 0 for a window that is not used.
        let unused = key == "sliding_window" && keys["use_sliding_window"] == false && keys[key] == 0;
        if absurd && !unknown && !unused {
            return Err(format!("`{key}` is {}, not a positive integer", keys[key]));
        }
    }
    let count = |key: &str| keys[key].as_i64();
    let experts = count("num_local_experts").or(count("num_experts")).or(count("n_routed_experts"));
    let experts = experts.filter(|&experts| experts > 0);
    if let (Some(experts), Some(chosen)) = (experts, count("num_experts_per_tok"))
        && chosen > experts
    {
        return Err(format!("`num_experts_per_tok` is {chosen}, more than the number of experts, {experts}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_name_absurd_counts() {
        for value in
            [json!(0), json!(-4), json!(1.5), json!("64"), json!([64]), json!(true), json!(1u64 << 60), json!(1e30)]
        {
            let message = check(&json!({"vocab_size": 8, "hidden_size": value})).unwrap_err();
            assert!(message.starts_with("`hidden_size` is "), "{message}");
        }
        assert_eq!(check(&json!({"hidden_size": 64, "head_dim": null})), Ok(()));
        assert_eq!(check(&json!({"vocab_size": -1, "multiple_of": 256})), Ok(()));
        assert!(check(&json!({"vocab_size": -1})).is_err());
        assert_eq!(check(&json!({"sliding_window": 0, "use_sliding_window": false})), Ok(()));
        assert!(check(&json!({"sliding_window": 0})).is_err());
        assert!(check(&json!({"num_experts": 4, "num_experts_per_tok": 5})).is_err());
    }
}
