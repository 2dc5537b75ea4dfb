//! Llama (Touvron et al. 2023) and its later versions, in the layout of transformers' `LlamaForCausalLM`.

use super::CausalLm;
use crate::blocks::{Attention, AttentionShape, KvCache, Linear, Mlp, RmsNorm, RotaryEmbedding};
use crate::config::ModelConfig;
use crate::fault::device_fault;
use crate::weights::{MappedFile, Weights};
use compass_common::engine::EngineFault;
use tch::{Device, Kind, TchError, Tensor};

/// A loaded model. Fields are dropped in order: the tensors before the files that they are views of.
pub(crate) struct Llama {
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: RmsNorm,
    lm_head: Linear,
    rope: RotaryEmbedding,
    config: ModelConfig,
    options: (Kind, Device),
    _files: Vec<MappedFile>,
}

struct Layer {
    input_layernorm: RmsNorm,
    self_attn: Attention,
    post_attention_layernorm: RmsNorm,
    mlp: Mlp,
}

impl Layer {
    fn forward(
        &self,
        x: &Tensor,
        rope: &RotaryEmbedding,
        start: i64,
        cache: Option<&mut crate::blocks::LayerCache>,
    ) -> Result<Tensor, TchError> {
        let x = x.f_add(&self.self_attn.forward(&self.input_layernorm.forward(x)?, rope, start, cache)?)?;
        x.f_add(&self.mlp.forward(&self.post_attention_layernorm.forward(&x)?)?)
    }
}

impl Llama {
    /// Takes every tensor from `weights`; rotary tables are made for `positions` at first.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when weights and configuration do not belong together.
    pub(crate) fn load(
        config: &ModelConfig,
        mut weights: Weights,
        positions: usize,
        options: (Kind, Device),
    ) -> Result<Self, EngineFault> {
        let c = config;
        let eps = c.rms_norm_eps;
        let embed_tokens = weights.take("model.embed_tokens.weight", &[c.vocab_size, c.hidden_size])?;
        let layers =
            (0..c.layers).map(|i| layer(c, &mut weights, &format!("model.layers.{i}"))).collect::<Result<_, _>>()?;
        let norm = RmsNorm::new(weights.take("model.norm.weight", &[c.hidden_size])?, eps);
        let head = if c.tie_word_embeddings {
            weights.skip("lm_head.weight");
            embed_tokens.shallow_clone()
        } else {
            weights.take("lm_head.weight", &[c.vocab_size, c.hidden_size])?
        };
        let rope = RotaryEmbedding::new(&c.rope, c.head_dim, positions as i64, options.0, options.1);
        Ok(Self {
            embed_tokens,
            layers,
            norm,
            lm_head: Linear::new(head, None),
            rope: rope.map_err(|error| device_fault(&error))?,
            config: config.clone(),
            options,
            _files: weights.finish()?,
        })
    }
}

fn layer(c: &ModelConfig, weights: &mut Weights, at: &str) -> Result<Layer, EngineFault> {
    let shape = AttentionShape { heads: c.heads, kv_heads: c.kv_heads, head_dim: c.head_dim };
    let (q_width, kv_width) = (c.heads * c.head_dim, c.kv_heads * c.head_dim);
    let mut linear = |name: &str, out: i64, inner: i64, biased: bool| {
        let weight = weights.take(&format!("{at}.{name}.weight"), &[out, inner])?;
        let bias = if biased { Some(weights.take(&format!("{at}.{name}.bias"), &[out])?) } else { None };
        Ok::<_, EngineFault>(Linear::new(weight, bias))
    };
    let self_attn = Attention {
        shape,
        q_proj: linear("self_attn.q_proj", q_width, c.hidden_size, c.attention_bias)?,
        k_proj: linear("self_attn.k_proj", kv_width, c.hidden_size, c.attention_bias)?,
        v_proj: linear("self_attn.v_proj", kv_width, c.hidden_size, c.attention_bias)?,
        o_proj: linear("self_attn.o_proj", c.hidden_size, q_width, c.attention_bias)?,
    };
    let mlp = Mlp {
        gate_proj: linear("mlp.gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias)?,
        up_proj: linear("mlp.up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias)?,
        down_proj: linear("mlp.down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias)?,
    };
    let mut norm = |name: &str| {
        weights.take(&format!("{at}.{name}.weight"), &[c.hidden_size]).map(|w| RmsNorm::new(w, c.rms_norm_eps))
    };
    Ok(Layer {
        input_layernorm: norm("input_layernorm")?,
        self_attn,
        post_attention_layernorm: norm("post_attention_layernorm")?,
        mlp,
    })
}

impl CausalLm for Llama {
    fn hidden(&mut self, tokens: &[u32], start: usize, cache: Option<&mut KvCache>) -> Result<Tensor, TchError> {
        self.rope.grow((start + tokens.len()) as i64)?;
        let ids: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
        let ids = Tensor::f_from_slice(&ids)?.f_to_device(self.options.1)?;
        let mut x = Tensor::f_embedding(&self.embed_tokens, &ids, -1, false, false)?;
        match cache {
            None => {
                for layer in &self.layers {
                    x = layer.forward(&x, &self.rope, start as i64, None)?;
                }
            }
            Some(cache) => {
                for (layer, past) in self.layers.iter().zip(cache.layers_mut()) {
                    x = layer.forward(&x, &self.rope, start as i64, Some(past))?;
                }
            }
        }
        self.norm.forward(&x)
    }

    fn logits(&self, hidden: &Tensor) -> Result<Tensor, TchError> {
        self.lm_head.forward(hidden)?.f_to_kind(Kind::Float)
    }

    fn cache(&self, capacity: usize) -> Result<KvCache, TchError> {
        let c = &self.config;
        KvCache::new(c.layers, c.kv_heads, capacity as i64, c.head_dim, self.options)
    }

    fn vocabulary(&self) -> usize {
        self.config.vocab_size as usize
    }
}
