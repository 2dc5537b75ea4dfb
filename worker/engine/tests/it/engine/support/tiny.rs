//! A tiny Llama with random weights and a character tokenizer, written by the test. Needs no data.

use super::plan;
use compass_plan::{BosPolicy, ModelPlan};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A model directory that a test may change before writing it.
pub(crate) struct TinyModel {
    pub(crate) config: Value,
    pub(crate) tokenizer: Value,
    pub(crate) tokenizer_config: Value,
    /// Name, shape and values of every tensor.
    pub(crate) tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

const HIDDEN: usize = 24;
const INNER: usize = 40;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_DIM: usize = 6;
const LAYERS: usize = 2;

impl Default for TinyModel {
    fn default() -> Self {
        let mut vocab = vec!["<unk>".to_owned(), "<s>".to_owned(), "</s>".to_owned(), "\n".to_owned()];
        vocab.extend((' '..='~').map(String::from));
        let size = vocab.len();
        let special = |id: usize| {
            json!({"id": id, "content": vocab[id], "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})
        };
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [special(0), special(1), special(2)],
            "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
            "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
                      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                      "vocab": vocab.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect::<serde_json::Map<_, _>>(),
                      "merges": []}
        });
        let config = json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
            "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "vocab_size": size, "max_position_embeddings": 64,
            "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false, "hidden_act": "silu",
            "bos_token_id": 1, "eos_token_id": 2
        });
        let mut shapes = vec![
            ("model.embed_tokens.weight".to_owned(), vec![size, HIDDEN]),
            ("lm_head.weight".to_owned(), vec![size, HIDDEN]),
            ("model.norm.weight".to_owned(), vec![HIDDEN]),
        ];
        for layer in 0..LAYERS {
            let at = |name: &str| format!("model.layers.{layer}.{name}.weight");
            shapes.extend([
                (at("input_layernorm"), vec![HIDDEN]),
                (at("post_attention_layernorm"), vec![HIDDEN]),
                (at("self_attn.q_proj"), vec![HEADS * HEAD_DIM, HIDDEN]),
                (at("self_attn.k_proj"), vec![KV_HEADS * HEAD_DIM, HIDDEN]),
                (at("self_attn.v_proj"), vec![KV_HEADS * HEAD_DIM, HIDDEN]),
                (at("self_attn.o_proj"), vec![HIDDEN, HEADS * HEAD_DIM]),
                (at("mlp.gate_proj"), vec![INNER, HIDDEN]),
                (at("mlp.up_proj"), vec![INNER, HIDDEN]),
                (at("mlp.down_proj"), vec![HIDDEN, INNER]),
            ]);
        }
        let mut state = 1u64;
        let mut uniform = || {
            // xorshift64: the numbers only need to be the same every time.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        let tensors = shapes.into_iter().map(|(name, shape)| {
            let centre = if name.contains("norm") { 1.0 } else { 0.0 };
            let values = (0..shape.iter().product::<usize>()).map(|_| centre + uniform()).collect();
            (name, (shape, values))
        });
        Self {
            config,
            tokenizer,
            tokenizer_config: json!({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true}),
            tensors: tensors.collect(),
        }
    }
}

impl TinyModel {
    /// A model whose continuation is written beforehand: each token of a chain is followed by the next one, whatever precedes it,
    /// and all others by the end token. A token is a character, or one of `tokens`, which the tokenizer gets in addition.
    pub(crate) fn scripted(tokens: &[&str], chains: &[&[&str]]) -> Self {
        let mut model = Self::default();
        let mut ids: BTreeMap<String, usize> = model.tokenizer["model"]["vocab"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(token, id)| (token.clone(), id.as_u64().unwrap() as usize))
            .collect();
        for token in tokens {
            let id = ids.len();
            ids.insert((*token).to_owned(), id);
            let added = json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                               "normalized": false, "special": false});
            model.tokenizer["added_tokens"].as_array_mut().unwrap().push(added);
        }
        // As wide as the vocabulary: embeddings are unit vectors, attention and MLP write zeros, and the head is the chain.
        let width = ids.len().next_multiple_of(8);
        let end = ids["</s>"];
        let mut next = vec![end; width];
        for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
            next[ids[pair[0]]] = ids[pair[1]];
        }
        let unit = |row: usize, column: usize| f32::from(u8::from(row == column));
        let square = |value: &dyn Fn(usize, usize) -> f32| {
            let values = (0..width * width).map(|at| value(at / width, at % width)).collect();
            (vec![width, width], values)
        };
        let ones = || (vec![width], vec![1.0; width]);
        let zeros = |rows: usize, columns: usize| (vec![rows, columns], vec![0.0; rows * columns]);
        let at = |name: &str| format!("model.layers.0.{name}.weight");
        model.tensors = BTreeMap::from([
            ("model.embed_tokens.weight".to_owned(), square(&unit)),
            ("lm_head.weight".to_owned(), square(&|row, column| unit(row, next[column]))),
            ("model.norm.weight".to_owned(), ones()),
            (at("input_layernorm"), ones()),
            (at("post_attention_layernorm"), ones()),
            (at("self_attn.q_proj"), zeros(width, width)),
            (at("self_attn.k_proj"), zeros(width, width)),
            (at("self_attn.v_proj"), zeros(width, width)),
            (at("self_attn.o_proj"), zeros(width, width)),
            (at("mlp.gate_proj"), zeros(INNER, width)),
            (at("mlp.up_proj"), zeros(INNER, width)),
            (at("mlp.down_proj"), zeros(width, INNER)),
        ]);
        let heads = 4;
        for (key, value) in [
            ("hidden_size", width),
            ("vocab_size", width),
            ("num_hidden_layers", 1),
            ("num_attention_heads", heads),
            ("num_key_value_heads", heads),
            ("head_dim", width / heads),
            ("max_position_embeddings", 512),
        ] {
            model.config[key] = value.into();
        }
        model
    }

    /// Writes every file, with all weights in one file.
    pub(crate) fn write(&self, directory: &Path) {
        self.write_json(directory);
        self.write_weights(&directory.join("model.safetensors"), |_| true);
    }

    /// Writes everything except the weights.
    pub(crate) fn write_json(&self, directory: &Path) {
        let files = [
            ("config.json", &self.config),
            ("tokenizer.json", &self.tokenizer),
            ("tokenizer_config.json", &self.tokenizer_config),
        ];
        for (name, value) in files {
            std::fs::write(directory.join(name), value.to_string()).unwrap();
        }
    }

    /// Writes the tensors selected by `wanted`, as f32.
    pub(crate) fn write_weights(&self, path: &Path, wanted: impl Fn(&str) -> bool) {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let picked = self.tensors.iter().filter(|(name, _)| wanted(name));
        let stored = picked.map(|(name, (shape, values))| (name, shape, bytes(values))).collect::<Vec<_>>();
        let views = stored
            .iter()
            .map(|(name, shape, bytes)| (name.as_str(), TensorView::new(Dtype::F32, (*shape).clone(), bytes).unwrap()));
        safetensors::serialize_to_file(views, None, path).unwrap();
    }
}

/// A plan for a tiny model with BOS by the tokenizer's own rule.
pub(crate) fn tiny_plan(directory: &Path) -> ModelPlan {
    plan(directory, BosPolicy::Auto, None)
}
