//! The conventional method as a baseline: padded batches, every position of every row, logits over the whole vocabulary.
//!
//! A Llama in fp32 on the CPU, `[batch, time, hidden]`, as transformers' `LlamaForCausalLM` computes it with `sdpa` and
//! OpenCompass's `HuggingFaceBaseModel` and lm-eval's `HFLM` call it: both sides of a ratio have the same libtorch, weights
//! and machine.

use super::RandomLlama;
use super::padded_batch::{Pad, PaddedBatch};
use super::random_llama::{RMS_NORM_EPS, ROPE_THETA};
use compass_engine::make_mkl_reproducible;
use std::collections::HashMap;
use std::path::Path;
use tch::{Device, Kind, TchError, Tensor};

/// The model. It must stay on the thread that loaded it.
pub struct PaddedLlama {
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// `[positions, head_dim]`.
    cos: Tensor,
    sin: Tensor,
    shape: RandomLlama,
}

struct Layer {
    input_layernorm: Tensor,
    post_attention_layernorm: Tensor,
    q_proj: Tensor,
    k_proj: Tensor,
    v_proj: Tensor,
    o_proj: Tensor,
    gate_proj: Tensor,
    up_proj: Tensor,
    down_proj: Tensor,
}

/// Keys and values of a batch, `[batch, kv_heads, capacity, head_dim]` for each layer.
struct Cache {
    layers: Vec<(Tensor, Tensor)>,
    length: i64,
}

impl PaddedLlama {
    /// Loads the weights of `shape` in `directory`; the calling thread's number of libtorch threads becomes `threads` (at
    /// least 1).
    ///
    /// # Errors
    /// A missing tensor, or libtorch's error, in words.
    pub fn load(directory: &Path, shape: RandomLlama, threads: u32) -> Result<Self, String> {
        tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
        let _no_grad = tch::no_grad_guard();
        // As in the engine, so that a ratio compares methods and not modes of MKL.
        if let Some(note) = make_mkl_reproducible() {
            eprintln!("MKL's reproducibility mode: {note}");
        }
        let tensors = Tensor::read_safetensors(directory.join("model.safetensors")).map_err(in_words)?;
        let mut weights: HashMap<String, Tensor> = tensors.into_iter().collect();
        let mut take = |name: &str| {
            weights.remove(&format!("model.{name}.weight")).ok_or_else(|| format!("the model has no `{name}`"))
        };
        let embed_tokens = take("embed_tokens")?;
        let layers = (0..shape.layers).map(|number| {
            let mut take = |name: &str| take(&format!("layers.{number}.{name}"));
            Ok::<_, String>(Layer {
                input_layernorm: take("input_layernorm")?,
                post_attention_layernorm: take("post_attention_layernorm")?,
                q_proj: take("self_attn.q_proj")?,
                k_proj: take("self_attn.k_proj")?,
                v_proj: take("self_attn.v_proj")?,
                o_proj: take("self_attn.o_proj")?,
                gate_proj: take("mlp.gate_proj")?,
                up_proj: take("mlp.up_proj")?,
                down_proj: take("mlp.down_proj")?,
            })
        });
        let layers = layers.collect::<Result<_, _>>()?;
        let norm = take("norm")?;
        let (cos, sin) = rotary(head_dim(&shape), shape.positions as i64).map_err(in_words)?;
        Ok(Self { embed_tokens, layers, norm, cos, sin, shape })
    }

    /// Returns for each text the sum of -log p(t2..tn), from one batch padded on the right: log-softmax over the whole
    /// vocabulary at every position. Also returns the number of rows computed, including padding.
    ///
    /// # Errors
    /// libtorch's, in words.
    pub fn score(&mut self, texts: &[&[u32]]) -> Result<(Vec<f64>, u64), String> {
        let _no_grad = tch::no_grad_guard();
        self.score_batch(texts).map_err(in_words)
    }

    fn score_batch(&self, texts: &[&[u32]]) -> Result<(Vec<f64>, u64), TchError> {
        let batch = PaddedBatch::new(texts, Pad::Right)?;
        let hidden = self.hidden(&batch.ids, &batch.positions, batch.visible.as_ref(), None)?;
        let log_probs = hidden.f_linear(&self.embed_tokens, None::<&Tensor>)?.f_log_softmax(-1, Kind::Float)?;
        let wanted = batch.ids.f_narrow(1, 1, batch.time - 1)?.f_unsqueeze(2)?;
        let taken = log_probs.f_narrow(1, 0, batch.time - 1)?.f_gather(2, &wanted, false)?.f_squeeze_dim(2)?;
        let sums = texts.iter().enumerate().map(|(row, text)| {
            let own = taken.f_get(row as i64)?.f_narrow(0, 0, (text.len() as i64 - 1).max(0))?;
            Ok(-Vec::<f32>::try_from(&own)?.into_iter().map(f64::from).sum::<f64>())
        });
        Ok((sums.collect::<Result<_, TchError>>()?, batch.rows()))
    }

    /// Returns greedy continuations of one batch padded on the left. The batch runs until its last text has ended: at
    /// one of `eos`, which is part of the continuation, or after `most` tokens. Also returns the number of rows
    /// computed, including padding and rows of texts that had ended.
    ///
    /// # Errors
    /// libtorch's, in words.
    pub fn generate(&mut self, prompts: &[&[u32]], most: usize, eos: &[u32]) -> Result<(Vec<Vec<u32>>, u64), String> {
        let _no_grad = tch::no_grad_guard();
        self.generate_batch(prompts, most, eos).map_err(in_words)
    }

    fn generate_batch(&self, prompts: &[&[u32]], most: usize, eos: &[u32]) -> Result<(Vec<Vec<u32>>, u64), TchError> {
        let mut batch = PaddedBatch::new(prompts, Pad::Left)?;
        let mut rows = batch.rows();
        let mut cache = self.cache(prompts.len() as i64, batch.time + most as i64)?;
        let mut hidden = self.hidden(&batch.ids, &batch.positions, batch.visible.as_ref(), Some(&mut cache))?;
        let mut answers: Vec<Vec<u32>> = vec![Vec::new(); prompts.len()];
        let ended = |answer: &Vec<u32>| answer.last().is_some_and(|last| eos.contains(last));
        loop {
            let (_, time, _) = hidden.size3()?;
            let logits = hidden.f_select(1, time - 1)?.f_linear(&self.embed_tokens, None::<&Tensor>)?;
            let best = logits.f_argmax(-1, false)?;
            for (answer, next) in answers.iter_mut().zip(Vec::<i64>::try_from(&best)?) {
                if !ended(answer) {
                    answer.push(next as u32);
                }
            }
            let steps = answers.iter().map(Vec::len).max().unwrap_or(0);
            if steps == most || answers.iter().all(ended) {
                return Ok((answers, rows));
            }
            batch.step()?;
            rows += prompts.len() as u64;
            hidden = self.hidden(&best.f_unsqueeze(1)?, &batch.positions, batch.visible.as_ref(), Some(&mut cache))?;
        }
    }

    fn cache(&self, batch: i64, capacity: i64) -> Result<Cache, TchError> {
        let size = [batch, self.shape.kv_heads as i64, capacity, head_dim(&self.shape)];
        let room = || Tensor::f_zeros(size, (Kind::Float, Device::Cpu));
        let layers = self.layers.iter().map(|_| Ok((room()?, room()?))).collect::<Result<_, TchError>>()?;
        Ok(Cache { layers, length: 0 })
    }

    /// Computes hidden states, `[batch, time, hidden]`, from ids and positions, `[batch, time]`. `visible`, `[batch, 1,
    /// time, keys]`, is the mask where attention is not plainly causal.
    fn hidden(
        &self,
        ids: &Tensor,
        positions: &Tensor,
        visible: Option<&Tensor>,
        mut cache: Option<&mut Cache>,
    ) -> Result<Tensor, TchError> {
        let mut x = Tensor::f_embedding(&self.embed_tokens, ids, -1, false, false)?;
        let at = |table: &Tensor| Tensor::f_embedding(table, positions, -1, false, false)?.f_unsqueeze(1);
        let rotation = (at(&self.cos)?, at(&self.sin)?);
        let (_, time) = ids.size2()?;
        for (number, layer) in self.layers.iter().enumerate() {
            let past = cache.as_mut().and_then(|cache| Some((cache.length, cache.layers.get_mut(number)?)));
            let mixed = self.attention(layer, &rms_norm(&x, &layer.input_layernorm)?, &rotation, visible, past)?;
            x = x.f_add(&mixed)?;
            let inner = rms_norm(&x, &layer.post_attention_layernorm)?;
            let none = None::<&Tensor>;
            let gate = inner.f_linear(&layer.gate_proj, none)?.f_silu()?;
            let inner = gate.f_mul(&inner.f_linear(&layer.up_proj, none)?)?;
            x = x.f_add(&inner.f_linear(&layer.down_proj, none)?)?;
        }
        if let Some(cache) = cache {
            cache.length += time;
        }
        rms_norm(&x, &self.norm)
    }

    fn attention(
        &self,
        layer: &Layer,
        x: &Tensor,
        (cos, sin): &(Tensor, Tensor),
        visible: Option<&Tensor>,
        past: Option<(i64, &mut (Tensor, Tensor))>,
    ) -> Result<Tensor, TchError> {
        let (batch, time, _) = x.size3()?;
        let head_dim = head_dim(&self.shape);
        let (heads, kv_heads) = (self.shape.heads as i64, self.shape.kv_heads as i64);
        let project = |weight: &Tensor, count: i64| {
            x.f_linear(weight, None::<&Tensor>)?.f_view([batch, time, count, head_dim])?.f_transpose(1, 2)
        };
        let half = head_dim / 2;
        let turn = |x: Tensor| {
            let rotated = Tensor::f_cat(&[x.f_narrow(3, half, half)?.f_neg()?, x.f_narrow(3, 0, half)?], -1)?;
            x.f_mul(cos)?.f_add(&rotated.f_mul(sin)?)
        };
        let queries = turn(project(&layer.q_proj, heads)?)?;
        let keys = turn(project(&layer.k_proj, kv_heads)?)?;
        let values = project(&layer.v_proj, kv_heads)?;
        let (keys, values) = match past {
            None => (keys, values),
            Some((length, (all_keys, all_values))) => {
                all_keys.f_narrow(2, length, time)?.f_copy_(&keys)?;
                all_values.f_narrow(2, length, time)?.f_copy_(&values)?;
                (all_keys.f_narrow(2, 0, length + time)?, all_values.f_narrow(2, 0, length + time)?)
            }
        };
        let grouped = heads != kv_heads;
        let causal = visible.is_none() && time > 1;
        let mixed = Tensor::f_scaled_dot_product_attention(
            &queries,
            &keys,
            &values,
            visible,
            0.0,
            causal,
            None::<f64>,
            grouped,
        )?;
        let mixed = mixed.f_transpose(1, 2)?.f_reshape([batch, time, heads * head_dim])?;
        mixed.f_linear(&layer.o_proj, None::<&Tensor>)
    }
}

/// Width of a head.
fn head_dim(shape: &RandomLlama) -> i64 {
    (shape.hidden / shape.heads) as i64
}

/// `x / sqrt(mean(x^2) + eps) * weight`, over the last dimension.
fn rms_norm(x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
    let variance = x.f_pow_tensor_scalar(2)?.f_mean_dim([-1i64].as_slice(), true, None)?;
    weight.f_mul(&x.f_mul(&variance.f_add_scalar(RMS_NORM_EPS)?.f_rsqrt()?)?)
}

/// Cosines and sines of `position / ROPE_THETA^(2i / dim)`, `[positions, dim]`, both halves equal.
fn rotary(dim: i64, positions: i64) -> Result<(Tensor, Tensor), TchError> {
    let options = (Kind::Float, Device::Cpu);
    let exponents = Tensor::f_arange_start_step(0, dim, 2, options)?.f_div_scalar(dim as f64)?;
    let inv_freq = Tensor::f_full([1i64], ROPE_THETA, options)?.f_pow(&exponents)?.f_reciprocal()?;
    let angles = Tensor::f_arange(positions, options)?.f_unsqueeze(1)?.f_mul(&inv_freq.f_unsqueeze(0)?)?;
    let angles = Tensor::f_cat(&[&angles, &angles], -1)?;
    Ok((angles.f_cos()?, angles.f_sin()?))
}

fn in_words(error: TchError) -> String {
    error.to_string()
}
