//! Configurations of models whose weights are made, not read: the shapes of real ones, over a vocabulary of numbered words.
//!
//! A word is a token, so that lengths are exact: `w17` is token 17.

use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;

/// A Llama's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomConfig {
    pub name: &'static str,
    pub vocabulary: u64,
    pub hidden: u64,
    pub inner: u64,
    pub layers: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub positions: u64,
    pub rope_theta: u32,
    pub tied: bool,
}

/// Configurations that `--random` knows.
pub const RANDOM_CONFIGS: [RandomConfig; 3] = [
    RandomConfig {
        name: "tiny",
        vocabulary: 512,
        hidden: 64,
        inner: 176,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        positions: 4096,
        rope_theta: 10_000,
        tied: true,
    },
    // Llama 3.2 1B.
    RandomConfig {
        name: "llama-1b",
        vocabulary: 128_256,
        hidden: 2048,
        inner: 8192,
        layers: 16,
        heads: 32,
        kv_heads: 8,
        positions: 8192,
        rope_theta: 500_000,
        tied: true,
    },
    // Llama 3 8B.
    RandomConfig {
        name: "llama-8b",
        vocabulary: 128_256,
        hidden: 4096,
        inner: 14_336,
        layers: 32,
        heads: 32,
        kv_heads: 8,
        positions: 8192,
        rope_theta: 500_000,
        tied: false,
    },
];

impl RandomConfig {
    /// Returns the configuration of this name.
    ///
    /// # Errors
    /// What names there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let names = || RANDOM_CONFIGS.map(|config| config.name).join(", ");
        let found = RANDOM_CONFIGS.into_iter().find(|config| config.name == name);
        found.ok_or_else(|| format!("there is no random model `{name}`; there are {}", names()))
    }

    /// Writes config.json and a tokenizer into `folder`.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let config = json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": self.vocabulary,
            "hidden_size": self.hidden, "intermediate_size": self.inner, "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads, "rms_norm_eps": 1e-5,
            "rope_theta": f64::from(self.rope_theta), "max_position_embeddings": self.positions,
            "tie_word_embeddings": self.tied, "hidden_act": "silu", "torch_dtype": "bfloat16"
        });
        let vocabulary: Map<String, Value> = (0..self.vocabulary).map(|id| (format!("w{id}"), id.into())).collect();
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": { "type": "WhitespaceSplit" }, "post_processor": null, "decoder": null,
            "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "w0" }
        });
        std::fs::write(folder.join("config.json"), config.to_string())?;
        std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
        let class = json!({ "tokenizer_class": "PreTrainedTokenizerFast" });
        std::fs::write(folder.join("tokenizer_config.json"), class.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_told_the_known_ones() {
        assert_eq!(RandomConfig::named("llama-8b").unwrap().hidden, 4096);
        let error = RandomConfig::named("llama-9b").unwrap_err();
        assert_eq!(error, "there is no random model `llama-9b`; there are tiny, llama-1b, llama-8b");
    }
}
