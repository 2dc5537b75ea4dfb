//! Llama over padded batches, `[batch, time, hidden]`, as computed by transformers' `LlamaForCausalLM` with `sdpa`.

use super::padded::{Pad, PaddedBatch};
use crate::blocks::RmsNorm;
use crate::config::{LlamaDefaults, LlamaShape, ModelConfig, RopeScaling};
use crate::fault::device_fault;
use crate::kernels::Reference;
use crate::reproducible::make_mkl_reproducible;
use crate::weights::{MappedFile, Weights};
use compass_plan::ModelKind;
use compass_plan::engine::EngineFault;
use std::path::Path;
use tch::{Device, Kind, TchError, Tensor};

/// The model. It must stay on the thread that loaded it.
pub struct PaddedLlama {
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: RmsNorm,
    lm_head: Tensor,
    /// `[positions, head_dim]`.
    cos: Tensor,
    sin: Tensor,
    shape: LlamaShape,
    _files: Vec<MappedFile>,
}

struct Layer {
    input_layernorm: RmsNorm,
    post_attention_layernorm: RmsNorm,
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
    /// Loads the model in `directory`; the calling thread's number of libtorch threads becomes `threads` (at least 1).
    ///
    /// # Errors
    /// [`EngineFault::Model`] when it is not a Llama without biases and without rotary scaling, or its files are
    /// damaged.
    pub fn load(directory: &Path, threads: u32) -> Result<Self, EngineFault> {
        tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
        let _no_grad = tch::no_grad_guard();
        // As in the engine, so that a ratio compares methods and not modes of MKL.
        if let Some(note) = make_mkl_reproducible() {
            tracing::warn!(note, "MKL's reproducibility mode");
        }
        let config = ModelConfig::read(directory, ModelKind::Hf)?;
        let shape = LlamaShape::read(&config, &LlamaDefaults::default())?;
        if shape.rope.scaling != RopeScaling::Default {
            return Err(config.fault("the baseline has no rotary scaling"));
        }
        let options = (Kind::Float, Device::Cpu);
        let mut weights = Weights::open(directory, ModelKind::Hf, ModelConfig::file_of(ModelKind::Hf), options)?;
        let (hidden, inner) = (shape.hidden_size, shape.intermediate_size);
        let (q, kv) = (shape.attention.q_width(), shape.attention.kv_width());
        let embed_tokens = weights.take("model.embed_tokens.weight", &[shape.vocab_size, hidden])?;
        let layers = (0..shape.layers).map(|number| {
            let at = |name: &str| format!("model.layers.{number}.{name}");
            let mut take = |name: &str, size: [i64; 2]| weights.take(&at(&format!("{name}.weight")), &size);
            let (q_proj, k_proj) = (take("self_attn.q_proj", [q, hidden])?, take("self_attn.k_proj", [kv, hidden])?);
            let (v_proj, o_proj) = (take("self_attn.v_proj", [kv, hidden])?, take("self_attn.o_proj", [hidden, q])?);
            let (gate_proj, up_proj) = (take("mlp.gate_proj", [inner, hidden])?, take("mlp.up_proj", [inner, hidden])?);
            let down_proj = take("mlp.down_proj", [hidden, inner])?;
            let mut norm = |name: &str| RmsNorm::load(&mut weights, &at(name), hidden, shape.rms_norm_eps);
            let (input_layernorm, post_attention_layernorm) =
                (norm("input_layernorm")?, norm("post_attention_layernorm")?);
            Ok::<Layer, EngineFault>(Layer {
                input_layernorm,
                post_attention_layernorm,
                q_proj,
                k_proj,
                v_proj,
                o_proj,
                gate_proj,
                up_proj,
                down_proj,
            })
        });
        let layers = layers.collect::<Result<_, _>>()?;
        let norm = RmsNorm::load(&mut weights, "model.norm", hidden, shape.rms_norm_eps)?;
        let lm_head = match shape.tie_word_embeddings {
            true => embed_tokens.shallow_clone(),
            false => weights.take("lm_head.weight", &[shape.vocab_size, hidden])?,
        };
        let positions = i64::from(config.max_position_embeddings.unwrap_or(2048));
        let (cos, sin) =
            rotary(shape.rope.theta, shape.attention.head_dim, positions).map_err(|error| device_fault(&error))?;
        let _files = weights.finish()?;
        Ok(Self { embed_tokens, layers, norm, lm_head, cos, sin, shape, _files })
    }

    /// Returns for each text the sum of -log p(t2..tn), from one batch padded on the right: log-softmax over the whole
    /// vocabulary at every position. Also returns the number of rows computed, including padding.
    ///
    /// # Errors
    /// [`EngineFault::Device`] when libtorch fails.
    pub fn score(&mut self, texts: &[&[u32]]) -> Result<(Vec<f64>, u64), EngineFault> {
        let _no_grad = tch::no_grad_guard();
        self.score_batch(texts).map_err(|error| device_fault(&error))
    }

    fn score_batch(&self, texts: &[&[u32]]) -> Result<(Vec<f64>, u64), TchError> {
        let batch = PaddedBatch::new(texts, Pad::Right)?;
        let hidden = self.hidden(&batch.ids, &batch.positions, batch.visible.as_ref(), None)?;
        let log_probs = hidden.f_linear(&self.lm_head, None::<&Tensor>)?.f_log_softmax(-1, Kind::Float)?;
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
    /// [`EngineFault::Device`] when libtorch fails.
    pub fn generate(
        &mut self,
        prompts: &[&[u32]],
        most: usize,
        eos: &[u32],
    ) -> Result<(Vec<Vec<u32>>, u64), EngineFault> {
        let _no_grad = tch::no_grad_guard();
        self.generate_batch(prompts, most, eos).map_err(|error| device_fault(&error))
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
            let logits = hidden.f_select(1, time - 1)?.f_linear(&self.lm_head, None::<&Tensor>)?;
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
        let heads = &self.shape.attention;
        let room = || Tensor::f_zeros([batch, heads.kv_heads, capacity, heads.head_dim], (Kind::Float, Device::Cpu));
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
            let mixed =
                self.attention(layer, &layer.input_layernorm.forward(&Reference, &x)?, &rotation, visible, past)?;
            x = x.f_add(&mixed)?;
            let inner = layer.post_attention_layernorm.forward(&Reference, &x)?;
            let none = None::<&Tensor>;
            let gate = inner.f_linear(&layer.gate_proj, none)?.f_silu()?;
            let inner = gate.f_mul(&inner.f_linear(&layer.up_proj, none)?)?;
            x = x.f_add(&inner.f_linear(&layer.down_proj, none)?)?;
        }
        if let Some(cache) = cache {
            cache.length += time;
        }
        self.norm.forward(&Reference, &x)
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
        let heads = &self.shape.attention;
        let project = |weight: &Tensor, count: i64| {
            x.f_linear(weight, None::<&Tensor>)?.f_view([batch, time, count, heads.head_dim])?.f_transpose(1, 2)
        };
        let half = heads.head_dim / 2;
        let turn = |x: Tensor| {
            let rotated = Tensor::f_cat(&[x.f_narrow(3, half, half)?.f_neg()?, x.f_narrow(3, 0, half)?], -1)?;
            x.f_mul(cos)?.f_add(&rotated.f_mul(sin)?)
        };
        let queries = turn(project(&layer.q_proj, heads.heads)?)?;
        let keys = turn(project(&layer.k_proj, heads.kv_heads)?)?;
        let values = project(&layer.v_proj, heads.kv_heads)?;
        let (keys, values) = match past {
            None => (keys, values),
            Some((length, (all_keys, all_values))) => {
                all_keys.f_narrow(2, length, time)?.f_copy_(&keys)?;
                all_values.f_narrow(2, length, time)?.f_copy_(&values)?;
                (all_keys.f_narrow(2, 0, length + time)?, all_values.f_narrow(2, 0, length + time)?)
            }
        };
        let grouped = heads.heads != heads.kv_heads;
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
        let mixed = mixed.f_transpose(1, 2)?.f_reshape([batch, time, heads.q_width()])?;
        mixed.f_linear(&layer.o_proj, None::<&Tensor>)
    }
}

/// Cosines and sines of `position / theta^(2i / dim)`, `[positions, dim]`, both halves equal.
fn rotary(theta: f64, dim: i64, positions: i64) -> Result<(Tensor, Tensor), TchError> {
    let options = (Kind::Float, Device::Cpu);
    let exponents = Tensor::f_arange_start_step(0, dim, 2, options)?.f_div_scalar(dim as f64)?;
    let inv_freq = Tensor::f_full([1i64], theta, options)?.f_pow(&exponents)?.f_reciprocal()?;
    let angles = Tensor::f_arange(positions, options)?.f_unsqueeze(1)?.f_mul(&inv_freq.f_unsqueeze(0)?)?;
    let angles = Tensor::f_cat(&[&angles, &angles], -1)?;
    Ok((angles.f_cos()?, angles.f_sin()?))
}
