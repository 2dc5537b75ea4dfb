//! Invalid values for every key of every family's configuration: the model loads, or one line names the file.

use crate::families::support::{copy_of, golden, message_in};
use serde_json::{Value, json};

const CASES: [(&str, &str); 21] = [
    ("llama-yarn-mscale", "config.json"),
    ("llama-llama3", "config.json"),
    ("internlm2-biases-dynamic", "config.json"),
    ("mistral", "config.json"),
    ("qwen3", "config.json"),
    ("gemma2", "config.json"),
    ("phi3-longrope", "config.json"),
    ("gpt2", "config.json"),
    ("gpt-neox", "config.json"),
    ("opt", "config.json"),
    ("mixtral", "config.json"),
    ("qwen2-moe", "config.json"),
    ("meta-llama-2", "params.json"),
    ("gemma", "config.json"),
    ("gemma3", "config.json"),
    ("gemma3-vision", "config.json"),
    ("glm4", "config.json"),
    ("internlm3-biases-dynamic", "config.json"),
    ("olmo2", "config.json"),
    ("deepseek-v2-groups", "config.json"),
    ("deepseek-v3", "config.json"),
];

fn nonsense() -> Vec<Value> {
    let listed = json!([0, -1, 3, 268_435_456, i64::MAX, 0.5, 1e308, "many", [], null]);
    listed.as_array().unwrap().clone()
}

#[test]
fn invalid_value_for_any_key() {
    for (case, name) in CASES {
        let config: Value = serde_json::from_slice(&std::fs::read(golden(case).join(name)).unwrap()).unwrap();
        let folder = copy_of(case);
        let paths = config.as_object().unwrap().iter().flat_map(|(key, value)| {
            let inner = value.as_object().into_iter().flat_map(|inner| inner.keys());
            std::iter::once(format!("/{key}")).chain(inner.map(move |inner| format!("/{key}/{inner}")))
        });
        for path in paths {
            for value in nonsense() {
                let mut wrong = config.clone();
                *wrong.pointer_mut(&path).unwrap() = value.clone();
                std::fs::write(folder.path().join(name), wrong.to_string()).unwrap();
                let _ = message_in(folder.path());
            }
        }
    }
}

#[test]
fn invalid_key_is_named() {
    let wrong = |case: &str, key: &str, value: Value| {
        let folder = copy_of(case);
        let mut config: Value =
            serde_json::from_slice(&std::fs::read(golden(case).join("config.json")).unwrap()).unwrap();
        config[key] = value;
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let message = message_in(folder.path()).unwrap_err();
        assert!(message.contains("config.json") && message.contains(&format!("`{key}`")), "{message}");
    };
    for value in [json!(0), json!(-8), json!(i64::MAX), json!("eight"), json!(8.5)] {
        wrong("llama", "num_attention_heads", value.clone());
        wrong("llama", "num_hidden_layers", value.clone());
        wrong("gpt2", "n_embd", value.clone());
        wrong("opt", "ffn_dim", value);
    }
    wrong("llama", "rms_norm_eps", json!("small"));
    wrong("llama", "tie_word_embeddings", json!("yes"));
    wrong("gemma2", "sliding_window", json!(-3));
    wrong("mixtral", "num_experts_per_tok", json!(9));
    wrong("llama", "max_position_embeddings", json!(-1));
}
