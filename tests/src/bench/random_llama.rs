//! A Llama with random weights: config.json and model.safetensors, the same for the same seed.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;
use std::path::Path;

pub(super) const RMS_NORM_EPS: f64 = 1e-5;
pub(super) const ROPE_THETA: f64 = 10_000.0;

/// Sizes of a model, whose embeddings are tied to its head.
#[derive(Clone, Copy, Debug)]
pub struct RandomLlama {
    pub vocabulary: usize,
    pub hidden: usize,
    pub inner: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub positions: usize,
    /// Interval of the tokens of the vocabulary that end a text, so that answers are of mixed length; 0 lets none.
    pub eos_every: usize,
}

impl RandomLlama {
    /// About 17 million parameters over a vocabulary of 50,304: gpt_neox_20b's tokens, filled up as its models are.
    pub const MILLIONS_17: Self = Self {
        vocabulary: 50_304,
        hidden: 256,
        inner: 704,
        layers: 5,
        heads: 4,
        kv_heads: 2,
        positions: 4096,
        eos_every: 0,
    };

    /// A tenth of a million over the demo's 512 tokens.
    pub const SMALL: Self = Self {
        vocabulary: 512,
        hidden: 64,
        inner: 176,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        positions: 4096,
        eos_every: 0,
    };

    /// Returns the number of parameters.
    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    /// The ids that end a text.
    pub fn eos(&self) -> Vec<u32> {
        match self.eos_every {
            0 => Vec::new(),
            every => (1..self.vocabulary as u32).step_by(every).collect(),
        }
    }

    /// Writes the model's files into `folder`.
    ///
    /// Weights are uniform: matrices of variance 1 / inputs, so that states neither vanish nor explode; embeddings of
    /// 0.15 squared, so that the residual stream is soon more than the last token and the next one is not the same again.
    ///
    /// # Errors
    /// Errors of the disk, in words.
    pub fn write(&self, folder: &Path, seed: u64) -> Result<(), String> {
        let config = json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": self.vocabulary,
            "hidden_size": self.hidden, "intermediate_size": self.inner, "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads, "rms_norm_eps": RMS_NORM_EPS,
            "rope_theta": ROPE_THETA, "max_position_embeddings": self.positions, "tie_word_embeddings": true,
            "hidden_act": "silu", "torch_dtype": "float32", "bos_token_id": null, "eos_token_id": self.eos()
        });
        std::fs::write(folder.join("config.json"), config.to_string()).map_err(|error| error.to_string())?;
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let tensors = self.tensors().into_iter().map(|(name, shape)| {
            let count = shape.iter().product::<usize>();
            let deviation = match shape.as_slice() {
                [_] => 0.0,
                [_, inputs] if name != "model.embed_tokens" => (*inputs as f32).powf(-0.5),
                _ => 0.15,
            };
            let centre = if shape.len() == 1 { 1.0 } else { 0.0 };
            // A uniform number of width 1 has the variance 1 / 12.
            let width = deviation * 12f32.sqrt();
            let bytes = (0..count).flat_map(|_| (centre + width * centred(&mut state)).to_le_bytes()).collect();
            (name, shape, bytes)
        });
        let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = tensors.collect();
        let views = tensors.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
            view.map(|view| (format!("{name}.weight"), view)).map_err(|error| error.to_string())
        });
        let views = views.collect::<Result<Vec<_>, String>>()?;
        safetensors::serialize_to_file(views, None, &folder.join("model.safetensors"))
            .map_err(|error| error.to_string())
    }

    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let Self { vocabulary, hidden, inner, layers, heads, kv_heads, .. } = *self;
        let kv_width = hidden / heads * kv_heads;
        let mut tensors =
            vec![("model.embed_tokens".into(), vec![vocabulary, hidden]), ("model.norm".into(), vec![hidden])];
        for layer in 0..layers {
            let mut push =
                |name: &str, shape: Vec<usize>| tensors.push((format!("model.layers.{layer}.{name}"), shape));
            push("self_attn.q_proj", vec![hidden, hidden]);
            push("self_attn.k_proj", vec![kv_width, hidden]);
            push("self_attn.v_proj", vec![kv_width, hidden]);
            push("self_attn.o_proj", vec![hidden, hidden]);
            push("mlp.gate_proj", vec![inner, hidden]);
            push("mlp.up_proj", vec![inner, hidden]);
            push("mlp.down_proj", vec![hidden, inner]);
            push("input_layernorm", vec![hidden]);
            push("post_attention_layernorm", vec![hidden]);
        }
        tensors
    }
}

/// A number in [-1/2, 1/2) by xorshift64.
fn centred(state: &mut u64) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
}
